#include "exercises/08_model_parallel/pipeline_messages.hpp"

namespace dist {

Schedule insert_messages(const Schedule& rows) {
    throw NotImplemented("pipeline_messages");
}

std::vector<Finding> validate(const Schedule& rows, int stages, int micro_batches, Sends sends) {
    // TODO: four questions, one function each. A map from each action to its place, and one from each
    // stage to its rank, answer most of them. For a deadlock let all ranks go as far as they can.
    throw NotImplemented("pipeline_messages");
}

}  // namespace dist
