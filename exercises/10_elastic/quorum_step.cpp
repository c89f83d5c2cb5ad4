#include "exercises/10_elastic/quorum_step.hpp"

#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist {

std::optional<Quorum> quorum(
    const std::vector<Replica>& replicas,
    const Quorum& previous,
    const QuorumSettings& settings,
    Clock::Duration now
) {
    // TODO: first this function, which needs no transport; then all_reduce() and should_commit();
    // then the copies, which begin() begins and should_commit() ends.
    throw NotImplemented("quorum_step");
}

struct QuorumStep::State {
    // what a step has to know from begin() until should_commit() returns
};

QuorumStep::QuorumStep(std::span<float> state, std::int64_t step) {
    throw NotImplemented("quorum_step");
}

QuorumStep::~QuorumStep() = default;

void QuorumStep::begin(const Quorum& quorum, Transport& transport) {
    throw NotImplemented("quorum_step");
}

void QuorumStep::report_error() {
    throw NotImplemented("quorum_step");
}

void QuorumStep::all_reduce(std::span<float> gradient) {
    throw NotImplemented("quorum_step");
}

bool QuorumStep::should_commit() {
    throw NotImplemented("quorum_step");
}

std::int64_t QuorumStep::step() const {
    throw NotImplemented("quorum_step");
}

}  // namespace dist
