#include "course/trainer/task.hpp"

#include "course/trainer/picture_task.hpp"
#include "course/trainer/text_task.hpp"

namespace dist::trainer {

std::unique_ptr<Task> make_task(const Options& options, int rank) {
    if (options.model == kGpt) {
        return std::make_unique<TextTask>(options);
    }
    return std::make_unique<PictureTask>(options, rank);
}

}  // namespace dist::trainer
