#include "exercises/10_elastic/heartbeat.hpp"

namespace dist {

struct Heartbeat::State {
    // TODO: what does this rank know of each other one, and of itself? What may be on its way to a
    // rank, and from it, when a look ends? By which time is each of them judged?
};

Heartbeat::Heartbeat(
    Transport& transport, std::uint32_t group, Clock& clock, const HeartbeatSettings& settings
) {
    throw NotImplemented("heartbeat");
}

Heartbeat::~Heartbeat() = default;

std::vector<RankHealth> Heartbeat::look(std::int64_t step) {
    throw NotImplemented("heartbeat");
}

}  // namespace dist
