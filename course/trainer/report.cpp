#include "course/trainer/report.hpp"

#include <fmt/format.h>

#include "course/trainer/stack.hpp"
#include "course/trainer/together.hpp"

namespace dist::trainer {

namespace {

std::string describe_data(const data::Dataset& data) {
    const std::string sizes =
        fmt::format("{} pictures to train on, {} to test", data.train.size(), data.test.size());
    if (data.synthetic) {
        return "data: SYNTHETIC pictures made from the seed, not real ones (datasets/README.md): " +
               sizes;
    }
    return fmt::format("data: CIFAR-10 in {}: {}", data.source, sizes);
}

std::string describe_test(const EpochRecord& record) {
    return fmt::format(
        "test accuracy {:.1f} %{}", 100 * record.test_accuracy,
        record.synthetic ? " (synthetic pictures)" : ""
    );
}

}  // namespace

Report::Report(const Options& options, const data::Dataset& data, const Communicator& comm)
    : options_(options), data_(data), comm_(comm), progress_(comm.rank() != 0) {
    progress_.print(describe_data(data));
    progress_.print(describe_stack(options.mine));
    progress_.print(fmt::format(
        "model: {}, {}, {} on {} rank{} with {} pictures each", options.model, options.dtype,
        options.parallel, comm.size(), comm.size() == 1 ? "" : "s", options.batch
    ));
}

void Report::begin_run(std::size_t done, std::size_t steps, std::size_t epoch_steps) {
    steps_ = steps;
    epoch_steps_ = epoch_steps;
    status_.epochs = (steps + epoch_steps - 1) / epoch_steps;
    together(comm_, [&] {
        if (comm_.rank() == 0 && !options_.log.empty()) {
            log_ = Log(options_.log, done);
        }
    });
    if (done > 0) {
        progress_.print(fmt::format("going on after step {} of {}", done, steps));
    }
}

void Report::begin_epoch(std::size_t epoch) {
    epoch_time_.lap_s();
    status_ = {.epoch = epoch + 1, .epochs = status_.epochs, .steps = epoch_steps_};
    counted_ = 0;
}

void Report::end_step(const StepRecord& record) {
    if (comm_.rank() != 0) {
        return;
    }
    log_.write(record);
    ++counted_;
    const auto n = static_cast<double>(counted_);
    const double images = n * static_cast<double>(record.images) / static_cast<double>(record.step);
    status_.step = record.step - (record.epoch - 1) * epoch_steps_;
    status_.loss += (record.loss - status_.loss) / n;
    status_.accuracy += (record.accuracy - status_.accuracy) / n;
    status_.images_per_s = images / epoch_time_.elapsed_s();
    progress_.show(status_);
}

void Report::end_epoch(EpochRecord record) {
    if (comm_.rank() != 0) {
        return;
    }
    record.epoch = status_.epoch;
    record.synthetic = data_.synthetic;
    record.duration_s = epoch_time_.elapsed_s();
    log_.write(record);
    progress_.print(fmt::format(
        "{}  {}  {:.1f} s", to_string(status_, false), describe_test(record), record.duration_s
    ));
    last_ = record;
}

void Report::end_run(std::size_t step) {
    if (step < steps_) {
        progress_.print(fmt::format("stopped after step {} of {}; --resume goes on", step, steps_));
    } else if (last_) {
        const double time_s = run_time_.elapsed_s();
        progress_.print(
            fmt::format("done: {} after {} steps, in {:.0f} s", describe_test(*last_), step, time_s)
        );
    } else {
        progress_.print("all steps were done before; give more --epochs or --steps to go on");
    }
}

}  // namespace dist::trainer
