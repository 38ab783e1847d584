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

template <class AnyArray>
std::size_t batch_of(const AnyArray& array) {
    return array.shape(0);
}

// Checks the first extents of an array.
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

void bound_infer(Edges edges, Index n, StopFlag stop, Rows coefficients,
                 Array<double, 1> references, Array<double, 2> cumulative, Array<double, 2> weights,
                 Array<double, 1> log_z, Array<double, 2> marginals) {
    const std::size_t batch = batch_of(log_z);
    const Triangle triangle = triangle_of(n, edges);
    const std::size_t count = triangle.places.size();
    const std::size_t blocks = blocks_of(triangle);
    require_shape(coefficients, {batch, count}, "there is a coefficient for each place");
    require_shape(references, {batch}, "there is a reference for each instance");
    require_shape(cumulative, {batch, blocks}, "there is a running sum for each block");
    require_shape(weights, {batch, blocks}, "there is a weight for each block");
    require_shape(marginals, {batch, count}, "there is a marginal for each place");
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    infer(triangle, flag, view(coefficients),
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

void bound_draw(Edges edges, Index n, StopFlag stop, Rows coefficients, Numbers references,
                Rows cumulative, Rows uniforms, Array<std::int8_t, 3> z) {
    const Triangle triangle = triangle_of(n, edges);
    const Running running = running_of(triangle, batch_of(z), coefficients, references, cumulative);
    require_shape(z, {batch_of(uniforms), uniforms.shape(1), static_cast<std::size_t>(n)},
                  "z has n columns for each uniform");
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    draw(triangle, flag, running, view(uniforms), view(z));
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

void bound_complete(Edges edges, Index n, StopFlag stop, Rows coefficients, Numbers references,
                    Rows weights, Array<const double, 3> uniforms, Array<const Index, 3> chosen,
                    Array<std::int8_t, 3> z, Array<std::int8_t, 4> completed,
                    Array<double, 3> conditionals) {
    const Triangle triangle = triangle_of(n, edges);
    const Running running = running_of(triangle, batch_of(z), coefficients, references, weights);
    require_shape(uniforms, {batch_of(z), z.shape(1), static_cast<std::size_t>(n)},
                  "there is a uniform for each variable");
    const Completed filled = completed_of(uniforms, chosen, z, completed, conditionals);
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    complete(triangle, flag, running, view(uniforms), view(chosen), filled);
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

void bound_derive(Edges edges, Index n, StopFlag stop, Rows coefficients, Numbers references,
                  Rows weights, Numbers totals, Array<const std::int8_t, 3> z,
                  Array<const Index, 3> chosen, Array<const double, 3> changes, Rows directions,
                  Numbers means, Array<double, 2> products) {
    const std::size_t batch = batch_of(products);
    const Triangle triangle = triangle_of(n, edges);
    const std::size_t count = triangle.places.size();
    const Running running = running_of(triangle, batch, coefficients, references, weights);
    const Drawn drawn = drawn_of(batch, static_cast<std::size_t>(n), z, chosen, changes);
    require_shape(directions, {batch, count}, "there is a direction for each place");
    require_shape(means, {batch}, "there is a mean for each instance");
    require_shape(totals, {batch}, "there is a total for each instance");
    require_shape(products, {batch, count}, "there is a product for each place");
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    derive(triangle, flag, running, drawn, {view(directions), view(means), view(totals)},
           view(products));
}

// --- elimination ------------------------------------------------------------------------------

// Calls kernel(lanes) with the number of instances side by side as a constant.
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

void bound_sum_product(const Schedule& schedule, Index lanes, StopFlag stop, Rows unary,
                       Rows pairwise, Array<const double, 3> uniforms, Array<double, 1> log_z,
                       Array<double, 2> ones, Array<double, 2> pairs, Array<std::int8_t, 3> z) {
    const std::size_t batch = batch_of(log_z);
    const Scores scores = scores_of(schedule, batch, unary, pairwise);
    require_shape(uniforms, {batch, uniforms.shape(1), schedule.steps.size()},
                  "there is a uniform for each variable");
    require_shape(z, {batch, uniforms.shape(1), schedule.steps.size()},
                  "z has a column for each uniform");
    require_filled(schedule, batch, ones, pairs);
    const Marginals marginals{view(log_z), view(ones), view(pairs), view(z)};
    const Stop flag = stop_of(stop);
    run(lanes, [&](auto L) { sum_product<L>(schedule, scores, view(uniforms), marginals, flag); });
}

void bound_complete_by_elimination(const Schedule& schedule, Index lanes, StopFlag stop, Rows unary,
                                   Rows pairwise, Array<const double, 3> uniforms,
                                   Array<const Index, 3> chosen, Array<std::int8_t, 3> z,
                                   Array<std::int8_t, 4> completed, Array<double, 3> conditionals) {
    const Scores scores = scores_of(schedule, batch_of(z), unary, pairwise);
    require_shape(uniforms, {batch_of(z), z.shape(1), schedule.steps.size()},
                  "there is a uniform for each variable");
    const Completed filled = completed_of(uniforms, chosen, z, completed, conditionals);
    const Stop flag = stop_of(stop);
    run(lanes,
        [&](auto L) { complete<L>(schedule, scores, view(uniforms), view(chosen), filled, flag); });
}

void bound_derive_by_elimination(const Schedule& schedule, Index lanes, StopFlag stop, Rows unary,
                                 Rows pairwise, Array<const std::int8_t, 3> z,
                                 Array<const Index, 3> chosen, Array<const double, 3> changes,
                                 Array<double, 2> ones, Array<double, 2> pairs) {
    const std::size_t batch = batch_of(ones);
    const Scores scores = scores_of(schedule, batch, unary, pairwise);
    const Drawn drawn = drawn_of(batch, schedule.steps.size(), z, chosen, changes);
    require_filled(schedule, batch, ones, pairs);
    const Stop flag = stop_of(stop);
    run(lanes, [&](auto L) { derive<L>(schedule, scores, drawn, view(ones), view(pairs), flag); });
}

void bound_covary(const Schedule& schedule, Index lanes, StopFlag stop, Rows unary, Rows pairwise,
                  Rows unary_direction, Rows pairwise_direction, Array<double, 2> ones,
                  Array<double, 2> pairs) {
    const std::size_t batch = batch_of(ones);
    const Scores scores = scores_of(schedule, batch, unary, pairwise);
    const Scores direction = scores_of(schedule, batch, unary_direction, pairwise_direction);
    require_filled(schedule, batch, ones, pairs);
    const Stop flag = stop_of(stop);
    run(lanes,
        [&](auto L) { covary<L>(schedule, scores, direction, view(ones), view(pairs), flag); });
}

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
        m.def(name, kernel, array("edges"), nb::arg("n"), array("stop"), array("coefficients"),
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
        m.def(name, kernel, nb::arg("schedule"), nb::arg("lanes"), array("stop"), array("unary"),
              array("pairwise"), array(names)..., text);
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
