#include "exercises/10_elastic/elastic_agent.hpp"

namespace dist {

AgentStep agent_step(AgentState state, const AgentEvent& event, const AgentSettings& settings) {
    // TODO: begin here, where there is no worker, no clock and no other node. What have all events in common that tell
    // workers to end? What follows when the last one has ended? Then the loop: what can it notice, and in which order?
    throw NotImplemented("elastic_agent");
}

ElasticAgent::ElasticAgent(
    Rounds& rounds, WorkerGroup& group, Clock& clock, const AgentSettings& settings, Log log
)
    : rounds_(rounds), group_(group), clock_(clock), settings_(settings), log_(std::move(log)) {
    throw NotImplemented("elastic_agent");
}

void ElasticAgent::apply(const AgentEvent& event) {
    throw NotImplemented("elastic_agent");
}

void ElasticAgent::ask() {
    throw NotImplemented("elastic_agent");
}

AgentResult ElasticAgent::run() {
    throw NotImplemented("elastic_agent");
}

}  // namespace dist
