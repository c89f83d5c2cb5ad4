#include "course/lab/choice.hpp"

#include <algorithm>

#include "course/lab/exchange.hpp"
#include "exercises/03_ring_and_tree/auto_all_reduce.hpp"

namespace dist::lab {

Choice choose_by_trial(
    std::size_t size_bytes, const Effort& effort, Workspace& workspace, const Communicator& comm
) {
    const std::vector<Algorithm> candidates = candidates_of_auto(workspace.nodes() != nullptr);
    Effort once = effort;
    once.limit_s = effort.budget_s;
    const std::vector<Point> trial = points_of(
        measure_size(candidates, size_bytes, once, workspace, nullptr, comm, [](double) {}),
        candidates, size_bytes
    );
    const auto best = std::ranges::min_element(trial, {}, &Point::median_s) - trial.begin();
    const LinkCost link = probe_link(size_bytes, effort.budget_s / 4, comm);
    const auto by_model = static_cast<std::size_t>(choose(size_bytes, comm.size(), link));
    return {
        .size_bytes = size_bytes,
        .best = candidates[static_cast<std::size_t>(best)],
        .by_model = candidates[by_model],
        .model_over_best =
            trial[by_model].median_s / trial[static_cast<std::size_t>(best)].median_s};
}

}  // namespace dist::lab
