// The module of one processor level: a submodule for each method that a bindings.cpp registers.
#include <algorithm>
#include <string_view>

#include "solvers/compiled/bindings.hpp"

NB_MODULE(KERNEL_MODULE, m) {
    nanobind::set_leak_warnings(
        false);  // topologies that callers keep hold plans until the process ends
    m.doc() = "Compiled kernels of the solvers; a submodule for each method.";
    auto methods = solvers::registered_methods();
    std::ranges::sort(methods, {},
                      [](const solvers::Method& method) { return std::string_view(method.name); });
    for (const solvers::Method& method : methods) {
        nanobind::module_ submodule = m.def_submodule(method.name);
        method.bind(submodule);
    }
}
