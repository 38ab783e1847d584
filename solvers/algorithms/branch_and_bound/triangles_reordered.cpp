#include "solvers/algorithms/branch_and_bound/triangles.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace solvers::branch_and_bound {
namespace {

constexpr double VIOLATION = 0.05;   // of inequalities that are added
constexpr double NEGLIGIBLE = 1e-4;  // multipliers below, in units of the scale, are dropped
constexpr Index ADDED_A_NODE = 10;   // inequalities, in every round

// Returns where the inequalities of i > j > k are marked.
Index place_of(Index i, Index j, Index k) {
    return i * (i - 1) * (i - 2) / 6 + j * (j - 1) / 2 + k;
}

}  // namespace

Relaxation::Relaxation(Index m, Index r, Index room)
    : capacity_(m),
      factors_(m, r),
      triangles_(room),
      lengths_(padded(m)),
      factor_(m),
      known_(std::max(Index{1}, m * (m - 1) * (m - 2) / 6)),
      most_found_(4 * room + 2 * m) {}

void Relaxation::load(Matrix<const double> couplings, double constant, Matrix<const double> points,
                      std::vector<Triangle> nodes, std::vector<double> multipliers) {
    const Index m = couplings.rows;
    factors_.resize(m);
    coupling_sum_ = 0.0;
    for (Index i = 0; i < m; ++i) {
        std::ranges::copy(couplings[i], factors_.couplings()[i]);
        for (Index j = 0; j < i; ++j) coupling_sum_ += std::abs(couplings(i, j));
    }
    for (Index r = 0; r < points.rows; ++r)
        std::ranges::copy(points[r], factors_.points() + r * factors_.stride());
    constant_ = constant;
    triangles_.nodes = std::move(nodes);
    triangles_.multipliers = std::move(multipliers);
}

// Removes inequalities whose multiplier is at most `least`.
void Relaxation::drop(double least) {
    std::size_t kept = 0;
    for (std::size_t t = 0; t < triangles_.nodes.size(); ++t) {
        if (!(triangles_.multipliers[t] > least)) continue;
        triangles_.nodes[kept] = triangles_.nodes[t];
        triangles_.multipliers[kept++] = triangles_.multipliers[t];
    }
    triangles_.nodes.resize(kept);
    triangles_.multipliers.resize(kept);
}

// Sets or clears the marks of the present inequalities.
void Relaxation::mark(bool present) {
    for (const auto& [i, j, k, kind] : triangles_.nodes) {
        std::uint8_t& known = known_[place_of(i, j, k)];
        known = static_cast<std::uint8_t>(present ? known | 1u << kind : 0);
    }
}

// Keeps the listed inequalities that are violated more than the median, which it returns.
double Relaxation::keep_worse_half() {
    slacks_.clear();
    for (const Violation& violation : found_) slacks_.push_back(violation.slack);
    const auto middle = slacks_.begin() + static_cast<std::ptrdiff_t>(slacks_.size() / 2);
    std::ranges::nth_element(slacks_, middle);
    const double median = *middle;
    std::erase_if(found_, [&](const Violation& violation) { return !(violation.slack < median); });
    return median;
}

// Lists the inequalities of i > j > k for all k whose slack minus 1 is below the limit:
//
//     min(a X_ij + b X_ik + c X_jk) over abc = 1 is min(X_ij - |X_ik + X_jk|, -X_ij - |X_ik -
//     X_jk|).
void Relaxation::list_pair(Index i, Index j, double limit) {
    const double* row = factors_.gram()[i];
    const double* other_row = factors_.gram()[j];
    const double a = row[j];
    const Index base = place_of(i, j, 0);
    for (Index first = 0; first < j; first += REGISTER_LANES) {
        const Register b = load_register(row + first);
        const Register c = load_register(other_row + first);
        const Register worst = smaller(spread(a) - magnitude(b + c), spread(-a) - magnitude(b - c));
        unsigned violated = ~at_most(spread(limit), worst);
        if (j - first < REGISTER_LANES) violated &= (1u << (j - first)) - 1;
        violated &= (1u << REGISTER_LANES) - 1;
        for (; violated != 0; violated &= violated - 1) {
            const Index k = first + std::countr_zero(violated);
            const double same = a - std::abs(row[k] + other_row[k]);
            const double other = -a - std::abs(row[k] - other_row[k]);
            const double slack = std::min(same, other);
            if (!(slack < limit)) continue;  // not a number
            int kind = row[k] < other_row[k] ? 2 : 3;
            if (same < other) kind = row[k] + other_row[k] < 0.0 ? 0 : 1;
            if (known_[base + k] >> kind & 1) continue;
            found_.push_back({slack,
                              {static_cast<std::int16_t>(i), static_cast<std::int16_t>(j),
                               static_cast<std::int16_t>(k), static_cast<std::int16_t>(kind)}});
        }
    }
}

// Lists inequalities that X violates and that are not present. If there are too many for the room,
// only those more violated than the median are kept, and the limit rises to the median.
Index Relaxation::list_violated() {
    const Index m = factors_.size();
    double limit = -1.0 - VIOLATION;
    found_.clear();
    mark(true);
    for (Index i = 2; i < m; ++i)
        for (Index j = 1; j < i; ++j) {
            list_pair(i, j, limit);
            if (found_.size() + m > most_found_) limit = keep_worse_half();
        }
    mark(false);
    return static_cast<Index>(found_.size());
}

// Adds the inequalities that X violates most.
void Relaxation::separate(Index most) {
    const Index count = list_violated();
    most = std::min(most, triangles_.room - triangles_.size());
    double limit = 0.0;
    if (count > most) {
        slacks_.clear();
        for (const Violation& violation : found_) slacks_.push_back(violation.slack);
        std::ranges::nth_element(slacks_, slacks_.begin() + most);
        limit = slacks_[most];
    }
    for (const Violation& violation : found_) {
        if (!(violation.slack < limit)) continue;
        triangles_.nodes.push_back(violation.triangle);
        triangles_.multipliers.push_back(0.0);
    }
}

// Sets d_i to the length of the field on v_i; returns their sum.
double Relaxation::measure_lengths() {
    const Index stride = factors_.stride();
    double total = 0.0;
    for (Index i = 0; i < stride; i += REGISTER_LANES) {
        Register square{};
        for (Index r = 0; r < factors_.rank(); ++r) {
            const Register lanes = load_register(factors_.field() + r * stride + i);
            square += lanes * lanes;
        }
        store_register(&lengths_[i], square);
    }
    for (Index i = 0; i < factors_.size(); ++i) {
        lengths_[i] = std::sqrt(lengths_[i]);
        total += lengths_[i];
    }
    return total;
}

// Returns a bound on the rounding in W and in the sums of the bound, which have fewer than
// `operations` terms each.
double Relaxation::rounding(double lengths) const {
    double weight = std::abs(constant_) + lengths + coupling_sum_;
    for (double multiplier : factors_.updated()) weight += 4.0 * multiplier;
    const auto operations = static_cast<double>(triangles_.size() + 2 * factors_.size() + 8);
    return 4.0 * ROUNDOFF * operations * weight;
}

// Returns whether no state scores more than the threshold, by spreading the rest that the estimate
// leaves over d.
bool Relaxation::proves(double threshold, double estimate, double lengths) {
    const auto m = static_cast<double>(factors_.size());
    double spare = 2.0 * (threshold - estimate - rounding(lengths)) / m;
    if (!(spare > 0.0)) return false;
    // A factorisation of A + s I that succeeds proves A + (s + this) I positive semidefinite (Rump
    // 2006).
    spare -= 4.0 * (m + 2.0) * ROUNDOFF * (lengths + m * spare);
    return factor_.decompose(factors_.weights(), lengths_.data(), spare);
}

// Returns an upper bound from the multipliers and W of the last update; d is overwritten.
double Relaxation::certify() {
    if (!make_concave(factors_.weights(), lengths_.data(), factor_, 2))
        return std::numeric_limits<double>::infinity();
    double total = 0.0;
    for (Index i = 0; i < factors_.size(); ++i) total += lengths_[i];
    double bound = constant_ + 0.5 * total;
    for (double multiplier : factors_.updated()) bound += multiplier;
    return bound + rounding(total);
}

// Every round moves the vectors, updates the multipliers and adds the inequalities that X violates.
// The gain of the last two rounds predicts whether an equal gain would reach the threshold.
double Relaxation::tighten(double scale, double threshold, Index patience, Index rounds,
                           Stop stop) {
    constexpr double unknown = std::numeric_limits<double>::infinity();
    double recent[3] = {unknown, unknown, unknown};
    for (Index count = 0; count < rounds; ++count) {
        factors_.ascend(triangles_, scale);
        const double lengths = measure_lengths();
        double estimate = constant_ + 0.5 * lengths;
        triangles_.multipliers = factors_.updated();
        for (double multiplier : triangles_.multipliers) estimate += multiplier;
        if (proves(threshold, estimate, lengths)) return threshold;
        recent[count % 3] = estimate;
        const double gain = recent[(count + 1) % 3] - estimate;
        if ((count >= patience && estimate - gain > threshold) || count == rounds - 1 ||
            stop.requested())
            break;
        drop(NEGLIGIBLE * scale);
        separate(ADDED_A_NODE * factors_.size());
    }
    return std::max(threshold, certify());
}

}  // namespace solvers::branch_and_bound
