#include "solvers/compiled/bindings.hpp"

#include <type_traits>

#include "solvers/gibbs_distribution/enumeration.hpp"
#include "solvers/gibbs_distribution/enumeration_derivative.hpp"
#include "solvers/gibbs_distribution/exponentials.hpp"
#include "solvers/gibbs_distribution/sum_product_completions.hpp"
#include "solvers/gibbs_distribution/sum_product_derivative.hpp"

namespace solvers::gibbs_distribution {
namespace {

using Numbers = Array<const double, 1>;
using Rows = Array<const double, 2>;
using Indices = Array<const Index, 1>;

template <class AnyArray>
std::size_t batch_of(const AnyArray& array) {
    return array.shape(0);
}

// The array's first extents are these.
template <class AnyArray>
void require_shape(const AnyArray& array, std::initializer_list<std::size_t> shape,
                   const char* message) {
    require(std::equal(shape.begin(), shape.end(), array.shape_ptr()), message);
}

// `[batch samples, m, n]` of `[batch, samples, m, n]`.
Cube<std::int8_t> joined_view(const Array<std::int8_t, 4>& array) {
    const auto extent = [&](std::size_t axis) { return static_cast<Index>(array.shape(axis)); };
    return {array.data(), extent(0) * extent(1), extent(2), extent(3)};
}

template <class T>
std::span<const T> all_of(const Array<const T, 3>& array) {
    return {array.data(), array.size()};
}

// --- enumeration ------------------------------------------------------------------------------

using Edges = Array<const Index, 2>;

// Where the coefficients of an instance go.
Triangle triangle_of(Index n, const Edges& edges) {
    require(n >= 1 && n <= MAX_VARIABLES, "n is outside 1 to 20");
    require(edges.shape(1) == 2, "edges have two columns");
    const Matrix<const Index> pairs = view(edges);
    for (Index e = 0; e < pairs.rows; ++e)
        require(0 <= pairs(e, 0) && pairs(e, 0) < pairs(e, 1) && pairs(e, 1) < n,
                "an edge is no pair i < j of variables");
    return {static_cast<int>(n), pairs};
}

std::size_t blocks_of(const Triangle& triangle) {
    return std::size_t{1} << depth_of(triangle.n);
}

void bound_infer(Edges edges, Index n, Rows coefficients, Array<double, 1> references,
                 Array<double, 2> cumulative, Array<double, 2> weights, Array<double, 1> log_z,
                 Array<double, 2> marginals) {
    const std::size_t batch = batch_of(log_z);
    const Triangle triangle = triangle_of(n, edges);
    const std::size_t count = triangle.places.size();
    const std::size_t blocks = blocks_of(triangle);
    require_shape(coefficients, {batch, count}, "there is a coefficient for each place");
    require_shape(references, {batch}, "there is a reference for each instance");
    require_shape(cumulative, {batch, blocks}, "there is a running sum for each block");
    require_shape(weights, {batch, blocks}, "there is a weight for each block");
    require_shape(marginals, {batch, count}, "there is a marginal for each place");
    nb::gil_scoped_release unlocked;
    infer(triangle, view(coefficients),
          {view(references), view(cumulative), view(weights), view(log_z), view(marginals)});
}

Running running_of(const Triangle& triangle, std::size_t batch, const Rows& coefficients,
                   const Numbers& references, const Rows& sums) {
    require_shape(coefficients, {batch, triangle.places.size()},
                  "there is a coefficient for each place");
    require_shape(references, {batch}, "there is a reference for each instance");
    require_shape(sums, {batch, blocks_of(triangle)}, "there is a sum for each block");
    return {view(coefficients), view(references), view(sums)};
}

void bound_draw(Edges edges, Index n, Rows coefficients, Numbers references, Rows cumulative,
                Rows uniforms, Array<std::int8_t, 3> z) {
    const Triangle triangle = triangle_of(n, edges);
    const Running running = running_of(triangle, batch_of(z), coefficients, references, cumulative);
    require_shape(z, {batch_of(uniforms), uniforms.shape(1), static_cast<std::size_t>(n)},
                  "z has n columns for each uniform");
    nb::gil_scoped_release unlocked;
    draw(triangle, running, view(uniforms), view(z));
}

// What is filled for each chosen variable.
Completed completed_of(const Array<const double, 3>& uniforms, const Array<const Index, 3>& chosen,
                       const Array<std::int8_t, 3>& z, const Array<std::int8_t, 4>& completed,
                       const Array<double, 3>& conditionals) {
    const std::size_t batch = batch_of(uniforms);
    const std::size_t samples = uniforms.shape(1);
    const std::size_t n = uniforms.shape(2);
    require_shape(chosen, {batch, samples}, "there are variables for each sample");
    require_indices(all_of(chosen), static_cast<Index>(n), "there is no such variable");
    require_shape(z, {batch, samples, n}, "z has a column for each uniform");
    require_shape(completed, {batch, samples, chosen.shape(2), n},
                  "each chosen variable has a completion");
    require_shape(conditionals, {batch, samples, chosen.shape(2)},
                  "each chosen variable has a conditional");
    return {view(z), joined_view(completed), view(conditionals)};
}

void bound_complete(Edges edges, Index n, Rows coefficients, Numbers references, Rows weights,
                    Array<const double, 3> uniforms, Array<const Index, 3> chosen,
                    Array<std::int8_t, 3> z, Array<std::int8_t, 4> completed,
                    Array<double, 3> conditionals) {
    const Triangle triangle = triangle_of(n, edges);
    const Running running = running_of(triangle, batch_of(z), coefficients, references, weights);
    require_shape(uniforms, {batch_of(z), z.shape(1), static_cast<std::size_t>(n)},
                  "there is a uniform for each variable");
    const Completed filled = completed_of(uniforms, chosen, z, completed, conditionals);
    nb::gil_scoped_release unlocked;
    complete(triangle, running, view(uniforms), view(chosen), filled);
}

Drawn drawn_of(std::size_t batch, std::size_t n, const Array<const std::int8_t, 3>& z,
               const Array<const Index, 3>& chosen, const Array<const double, 3>& changes) {
    const std::size_t samples = chosen.shape(1);
    require_shape(z, {batch, samples, n}, "z has a column for each variable");
    require_indices(all_of(z), 2, "z is of zeros and ones");
    require_shape(chosen, {batch, samples}, "there are variables for each sample");
    require_indices(all_of(chosen), static_cast<Index>(n), "there is no such variable");
    require_shape(changes, {batch, samples, chosen.shape(2)},
                  "there is a change for each chosen variable");
    return {view(z), view(chosen), view(changes)};
}

void bound_derive(Edges edges, Index n, Rows coefficients, Numbers references, Rows weights,
                  Numbers totals, Array<const std::int8_t, 3> z, Array<const Index, 3> chosen,
                  Array<const double, 3> changes, Rows directions, Numbers means,
                  Array<double, 2> products) {
    const std::size_t batch = batch_of(products);
    const Triangle triangle = triangle_of(n, edges);
    const std::size_t count = triangle.places.size();
    const Running running = running_of(triangle, batch, coefficients, references, weights);
    const Drawn drawn = drawn_of(batch, static_cast<std::size_t>(n), z, chosen, changes);
    require_shape(directions, {batch, count}, "there is a direction for each place");
    require_shape(means, {batch}, "there is a mean for each instance");
    require_shape(totals, {batch}, "there is a total for each instance");
    require_shape(products, {batch, count}, "there is a product for each place");
    nb::gil_scoped_release unlocked;
    derive(triangle, running, drawn, {view(directions), view(means), view(totals)}, view(products));
}

// --- elimination ------------------------------------------------------------------------------

// The schedule of a plan, array by array.
struct ScheduleArrays {
    const Array<const Index, 2>& steps;
    const Indices& variables;
    const Indices& edges;
    const Array<const Index, 2>& reads;
    const Indices& strides;
};

template <class Row>
std::span<const Row> rows_of(const Array<const Index, 2>& array) {
    require(array.shape(1) * sizeof(Index) == sizeof(Row), "a schedule has other columns");
    return {reinterpret_cast<const Row*>(array.data()), array.shape(0)};
}

bool in_order(Index first, Index last, std::size_t end) {
    return 0 <= first && first <= last && last <= static_cast<Index>(end);
}

// The entries that a step reads lie in the tables.
void require_reads(const Schedule& schedule, const Step& step) {
    const auto is_entry = [&](Index entry) { return entry >= 0 && entry < schedule.entries; };
    const std::size_t strides = schedule.strides.size();
    for (Index r = step.read_start; r < step.read_end; ++r) {
        const Read& read = schedule.reads[r];
        require(in_order(0, read.stride_start, strides) &&
                    in_order(0, read.stride_start + step.bits(), strides),
                "a read names strides that do not exist");
        bool inside = is_entry(read.entry_in) && is_entry(read.own_stride);
        Index last = inside ? read.entry_in + read.own_stride : 0;
        for (Index stride : schedule.strides.subspan(read.stride_start, step.bits())) {
            inside = inside && is_entry(stride);
            last += inside ? stride : 0;
        }
        require(inside && is_entry(last), "a read lies outside the tables");
    }
}

// Every variable is eliminated once, and those of its separator later.
void require_order(const Schedule& schedule) {
    const Index n = schedule.variable_count();
    std::vector<Index> step_of(n, -1);
    for (Index t = 0; t < n; ++t) {
        const Index v = schedule.steps[t].variable;
        require(v >= 0 && v < n && step_of[v] < 0, "a step eliminates no variable of its own");
        step_of[v] = t;
    }
    for (Index t = 0; t < n; ++t)
        for (Index i = schedule.steps[t].bit_start; i < schedule.steps[t].bit_end; ++i)
            require(step_of[schedule.variables[i]] > t,
                    "a variable of a separator is eliminated before");
}

// No memory has room for more, and no sum of entries overflows.
constexpr Index MOST_BITS = 40;

// One pass over the schedule.
Schedule schedule_of(const ScheduleArrays& arrays, std::size_t edge_count) {
    Schedule schedule{rows_of<Step>(arrays.steps), view(arrays.variables), view(arrays.edges),
                      rows_of<Read>(arrays.reads), view(arrays.strides)};
    schedule.edge_count = static_cast<Index>(edge_count);
    const std::size_t bits = schedule.variables.size();
    require(schedule.edges.size() == bits, "there is an edge for each bit of a separator");
    require_indices(schedule.variables, schedule.variable_count(),
                    "a separator has a variable that does not exist");
    for (Index edge : schedule.edges)
        require(edge >= -1 && edge < schedule.edge_count, "there is no such edge");
    for (const Step& step : schedule.steps) {
        require(in_order(step.bit_start, step.bit_end, bits) && step.bits() < MOST_BITS,
                "a step has no such bits");
        require(in_order(step.read_start, step.read_end, schedule.reads.size()),
                "a step has no such reads");
        require(step.entry_start == schedule.entries, "a step has no such entries");
        schedule.entries += step.entries();
        schedule.most_reads = std::max(schedule.most_reads, step.reads());
    }
    for (const Step& step : schedule.steps) require_reads(schedule, step);
    require_order(schedule);
    return schedule;
}

// Calls kernel(lanes) with the constant of so many instances side by side.
template <class Kernel>
void with_lanes(Index lanes, Kernel kernel) {
    switch (lanes) {
        case 1: return kernel(std::integral_constant<int, 1>());
        case 8: return kernel(std::integral_constant<int, 8>());
        case 16: return kernel(std::integral_constant<int, 16>());
        default: throw nb::value_error("1, 8 or 16 instances go side by side");
    }
}

// Runs kernel(lanes) without the interpreter's lock.
template <class Kernel>
void run(Index lanes, Kernel kernel) {
    with_lanes(lanes, [&](auto constant) {
        nb::gil_scoped_release unlocked;
        kernel(constant);
    });
}

Scores scores_of(const Schedule& schedule, std::size_t batch, const Rows& unary,
                 const Rows& pairwise) {
    require_shape(unary, {batch, schedule.steps.size()}, "unary has a column for each variable");
    require_shape(pairwise, {batch, static_cast<std::size_t>(schedule.edge_count)},
                  "pairwise has a column for each edge");
    return {view(unary), view(pairwise)};
}

// Arrays `[batch, n]` and `[batch, e]` to fill.
void require_filled(const Schedule& schedule, std::size_t batch, const Array<double, 2>& ones,
                    const Array<double, 2>& pairs) {
    require_shape(ones, {batch, schedule.steps.size()}, "ones has a column for each variable");
    require_shape(pairs, {batch, static_cast<std::size_t>(schedule.edge_count)},
                  "pairs has a column for each edge");
}

#define SCHEDULE                                                                                \
    Array<const Index, 2> steps, Indices variables, Indices edges, Array<const Index, 2> reads, \
        Indices strides, Index lanes, Rows unary, Rows pairwise

void bound_sum_product(SCHEDULE, Array<const double, 3> uniforms, Array<double, 1> log_z,
                       Array<double, 2> ones, Array<double, 2> pairs, Array<std::int8_t, 3> z) {
    const std::size_t batch = batch_of(log_z);
    const Schedule schedule =
        schedule_of({steps, variables, edges, reads, strides}, pairwise.shape(1));
    const Scores scores = scores_of(schedule, batch, unary, pairwise);
    require_shape(uniforms, {batch, uniforms.shape(1), schedule.steps.size()},
                  "there is a uniform for each variable");
    require_shape(z, {batch, uniforms.shape(1), schedule.steps.size()},
                  "z has a column for each uniform");
    require_filled(schedule, batch, ones, pairs);
    const Marginals marginals{view(log_z), view(ones), view(pairs), view(z)};
    run(lanes, [&](auto L) { sum_product<L>(schedule, scores, view(uniforms), marginals); });
}

void bound_complete_by_elimination(SCHEDULE, Array<const double, 3> uniforms,
                                   Array<const Index, 3> chosen, Array<std::int8_t, 3> z,
                                   Array<std::int8_t, 4> completed, Array<double, 3> conditionals) {
    const Schedule schedule =
        schedule_of({steps, variables, edges, reads, strides}, pairwise.shape(1));
    const Scores scores = scores_of(schedule, batch_of(z), unary, pairwise);
    require_shape(uniforms, {batch_of(z), z.shape(1), schedule.steps.size()},
                  "there is a uniform for each variable");
    const Completed filled = completed_of(uniforms, chosen, z, completed, conditionals);
    run(lanes,
        [&](auto L) { complete<L>(schedule, scores, view(uniforms), view(chosen), filled); });
}

void bound_derive_by_elimination(SCHEDULE, Array<const std::int8_t, 3> z,
                                 Array<const Index, 3> chosen, Array<const double, 3> changes,
                                 Array<double, 2> ones, Array<double, 2> pairs) {
    const std::size_t batch = batch_of(ones);
    const Schedule schedule =
        schedule_of({steps, variables, edges, reads, strides}, pairwise.shape(1));
    const Scores scores = scores_of(schedule, batch, unary, pairwise);
    const Drawn drawn = drawn_of(batch, schedule.steps.size(), z, chosen, changes);
    require_filled(schedule, batch, ones, pairs);
    run(lanes, [&](auto L) { derive<L>(schedule, scores, drawn, view(ones), view(pairs)); });
}

void bound_covary(SCHEDULE, Rows unary_direction, Rows pairwise_direction, Array<double, 2> ones,
                  Array<double, 2> pairs) {
    const std::size_t batch = batch_of(ones);
    const Schedule schedule =
        schedule_of({steps, variables, edges, reads, strides}, pairwise.shape(1));
    const Scores scores = scores_of(schedule, batch, unary, pairwise);
    const Scores direction = scores_of(schedule, batch, unary_direction, pairwise_direction);
    require_filled(schedule, batch, ones, pairs);
    run(lanes, [&](auto L) { covary<L>(schedule, scores, direction, view(ones), view(pairs)); });
}

#undef SCHEDULE

// --- exponentials, for tests ------------------------------------------------------------------

void bound_exponentiate(Array<double, 1> x) {
    exponentiate(view(x));
}

void bound_sum_exponentials(Numbers ones, Numbers zeros, Array<double, 1> logs,
                            Array<double, 1> shares) {
    const std::size_t size = ones.shape(0);
    require(zeros.shape(0) == size && logs.shape(0) == size && shares.shape(0) == size,
            "all have one size");
    sum_exponentials(view(ones), view(zeros), logs.data(), shares.data());
}

}  // namespace
}  // namespace solvers::gibbs_distribution

BIND_KERNELS(gibbs_distribution, m) {
    using namespace solvers::gibbs_distribution;
    namespace nb = nanobind;
    const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
    const auto by_enumeration = [&](const char* name, auto kernel, const char* text,
                                    auto... names) {
        m.def(name, kernel, array("edges"), nb::arg("n"), array("coefficients"),
              array("references"), array(names)..., text);
    };
    m.attr("BLOCK_BITS") = BLOCK_BITS;
    by_enumeration("infer", &bound_infer, "Fill log-partitions, marginals and running sums.",
                   "cumulative", "weights", "log_z", "marginals");
    by_enumeration("draw", &bound_draw, "Draw samples from the sums up to the end of each block.",
                   "cumulative", "uniforms", "z");
    by_enumeration("complete", &bound_complete,
                   "Draw samples variable by variable, and complete each with one the other way.",
                   "weights", "uniforms", "chosen", "z", "completed", "conditionals");
    by_enumeration("derive", &bound_derive,
                   "Fill the derivatives of marginals and of conditionals of samples.", "weights",
                   "totals", "z", "chosen", "changes", "directions", "means", "products");

    const auto by_elimination = [&](const char* name, auto kernel, const char* text,
                                    auto... names) {
        m.def(name, kernel, array("steps"), array("variables"), array("edges"), array("reads"),
              array("strides"), nb::arg("lanes"), array("unary"), array("pairwise"),
              array(names)..., text);
    };
    by_elimination("sum_product", &bound_sum_product,
                   "Fill log-partitions, marginals and samples by elimination.", "uniforms",
                   "log_z", "ones", "pairs", "z");
    by_elimination("complete_by_elimination", &bound_complete_by_elimination,
                   "Draw samples, and complete each with one variable the other way.", "uniforms",
                   "chosen", "z", "completed", "conditionals");
    by_elimination("derive_by_elimination", &bound_derive_by_elimination,
                   "Fill the derivative of conditionals of samples.", "z", "chosen", "changes",
                   "ones", "pairs");
    by_elimination("covary", &bound_covary, "Fill the derivative of marginals along a direction.",
                   "unary_direction", "pairwise_direction", "ones", "pairs");

    m.def("exponentiate", &bound_exponentiate, array("x"),
          "Replace each of `x` by its exponential, those below -700 by 0.");
    m.def("sum_exponentials", &bound_sum_exponentials, array("ones"), array("zeros"), array("logs"),
          array("shares"),
          "Fill log(exp(one) + exp(zero)), and the share of exp(one) in that sum.");
}
