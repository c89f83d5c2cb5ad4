#include "course/trainer/account.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string_view>
#include <utility>
#include <vector>

#include <mpi.h>

#include "course/parallel/together.hpp"
#include "course/runtime/error.hpp"

namespace dist::trainer {

namespace {

std::string describe_test(const EpochRecord& record, const TaskFacts& task) {
    const std::string note = task.synthetic ? fmt::format(" (synthetic {})", task.examples) : "";
    const double percent = 100 * record.test.accuracy;
    if (!record.test.loss) {
        return fmt::format("test accuracy {:.1f} %{}", percent, note);
    }
    return fmt::format(
        "test loss {:.3f}, perplexity {:.2f}, accuracy {:.1f} %{}", *record.test.loss,
        std::exp(*record.test.loss), percent, note
    );
}

// The epoch's mean, or that of fewer steps: of a run that ends or began in the middle of it.
std::string describe_training(const EpochRecord& record, std::size_t epoch_steps) {
    const std::string steps =
        record.train_steps == epoch_steps
            ? fmt::format("its {} steps", epoch_steps)
            : fmt::format("{} of its {} steps", record.train_steps, epoch_steps);
    return fmt::format(
        "mean over {} and all ranks: loss {:.3f}, accuracy {:.1f} %", steps, record.train_loss,
        100 * record.train_accuracy
    );
}

std::string batch_of_whom(const Options& options) {
    if (options.global_batch) {
        return "together";
    }
    if (!way_of(options.parallel).on_a_mesh) {
        return "each";
    }
    return options.mesh.ep > 1 ? "for each part of dp and ep" : "for each part of dp";
}

std::string describe_ranks(const Options& options, const Communicator& comm) {
    if (options.fault_tolerant) {
        return "replicas that come and go,";
    }
    return fmt::format("{} rank{}", comm.size(), comm.size() == 1 ? "" : "s");
}

}  // namespace

std::string to_table(const TimeRecord& times) {
    double rest_s = times.total_s;
    std::string table = "where rank 0's time went:\n";
    const auto line = [&](std::string_view part, double seconds) {
        const double share = times.total_s > 0 ? 100 * seconds / times.total_s : 0;
        table += fmt::format("  {:<13} {:>9.1f} s {:>5.1f} %\n", part, seconds, share);
        rest_s -= seconds;
    };
    line("data", times.data_s);
    line("forward", times.forward_s);
    line("backward", times.backward_s);
    line("communication", times.communication_s);
    line("optimizer", times.optimizer_s);
    line("evaluation", times.evaluation_s);
    line("checkpoint", times.checkpoint_s);
    line("other", rest_s);
    table += fmt::format("  {:<13} {:>9.1f} s", "together", times.total_s);
    constexpr double kShown = 0.05;
    if (times.communication_s + times.hidden_s < kShown) {
        return table;
    }
    table += "\ncommunication includes the time for which forward, backward and optimizer waited";
    if (times.hidden_s >= kShown) {
        table += fmt::format("; {:.1f} s more were hidden behind these", times.hidden_s);
    }
    return table;
}

std::string to_dtype_note(double fp32_s, double bf16_s) {
    if (bf16_s <= fp32_s) {
        return "";
    }
    return fmt::format(
        "a convolution in bfloat16 takes {:.1f} times as long as in float32 on this processor: "
        "--dtype fp32 "
        "trains faster",
        bf16_s / fp32_s
    );
}

std::string to_straggler(std::span<const double> compute_s) {
    constexpr double kClose = 1.25;
    const auto [shortest, longest] = std::ranges::minmax_element(compute_s);
    if (*longest <= kClose * *shortest) {
        return "";
    }
    return fmt::format(
        "rank {} computed for {:.1f} s, rank {} for {:.1f} s: each step waits for the slowest",
        longest - compute_s.begin(), *longest, shortest - compute_s.begin(), *shortest
    );
}

std::string describe_resumption(const Steps& begun, std::size_t steps) {
    if (begun.done == 0) {
        return "";
    }
    if (begun.done >= steps) {
        return fmt::format(
            "{} steps are done, and {} are asked for: nothing is left to train", begun.done, steps
        );
    }
    std::string text = fmt::format("going on after step {} of {}", begun.done, steps);
    if (begun.all > 0 && begun.all != steps) {
        text += fmt::format(
            "; the run was begun for {} steps: from here on the learning rate follows the schedule "
            "of {}",
            begun.all, steps
        );
    }
    return text;
}

Account::Account(const Options& options, TaskFacts task, const Communicator& comm)
    : options_(options), task_(std::move(task)), comm_(comm), progress_(comm.rank() != 0) {
    const bool on_a_mesh = way_of(options.parallel).on_a_mesh;
    progress_.print(task_.data);
    progress_.print(fmt::format(
        "model: {}, {}, on {}{} with {} {} {}; {}: {}", describe_model(options), options.dtype,
        describe_ranks(options, comm), on_a_mesh ? ", " + describe(options.mesh) + "," : "",
        options.global_batch.value_or(options.batch), task_.examples, batch_of_whom(options),
        way_of(options.parallel).name, way_of(options.parallel).what
    ));
}

void Account::begin_run(const Steps& begun, std::size_t steps, std::size_t epoch_steps) {
    steps_ = steps;
    epoch_steps_ = epoch_steps;
    status_.epochs = (steps + epoch_steps - 1) / epoch_steps;
    together(comm_, [&] {
        if (comm_.rank() == 0 && !options_.log.empty()) {
            log_ = Log(options_.log, begun.done);
        }
    });
    run_time_.lap_s();
    say(describe_resumption(begun, steps));
}

void Account::begin_epoch(std::size_t epoch) {
    epoch_time_.lap_s();
    const std::size_t steps = std::min(epoch_steps_, steps_ - epoch * epoch_steps_);
    status_ = {.epoch = epoch + 1, .epochs = status_.epochs, .steps = steps, .unit = task_.unit};
    counted_ = 0;
}

void Account::end_step(const StepRecord& record) {
    times_.add(record);
    if (comm_.rank() != 0) {
        return;
    }
    log_.write(record);
    ++counted_;
    const auto n = static_cast<double>(counted_);
    const double seen = n * static_cast<double>(record.seen) / static_cast<double>(record.step);
    status_.step = record.step - (record.epoch - 1) * epoch_steps_;
    status_.loss += (record.loss - status_.loss) / n;
    status_.accuracy += (record.accuracy - status_.accuracy) / n;
    status_.seen_per_s = seen / epoch_time_.elapsed_s();
    progress_.show(status_);
}

void Account::end_epoch(EpochRecord record) {
    if (comm_.rank() != 0) {
        return;
    }
    record.epoch = status_.epoch;
    record.train_steps = counted_;
    record.train_loss = status_.loss;
    record.train_accuracy = status_.accuracy;
    record.unit = task_.unit;
    record.synthetic = task_.synthetic;
    record.duration_s = epoch_time_.elapsed_s();
    log_.write(record);
    times_.evaluation_s += record.evaluation_s;
    progress_.print(fmt::format(
        "epoch {}/{}  {}; {}; {:.0f} {}/s; {:.1f} s", status_.epoch, status_.epochs,
        describe_training(record, epoch_steps_), describe_test(record, task_), status_.seen_per_s,
        task_.unit, record.duration_s
    ));
    last_ = record;
}

void Account::say(const std::string& line) {
    if (!line.empty()) {
        progress_.print(line);
    }
}

void Account::end_save(double seconds) {
    times_.checkpoint_s += seconds;
}

void Account::end_run(std::size_t step) {
    const double mine = times_.compute_s();
    std::vector<double> compute_s(static_cast<std::size_t>(comm_.size()));
    MPI_CHECK(MPI_Gather(&mine, 1, MPI_DOUBLE, compute_s.data(), 1, MPI_DOUBLE, 0, comm_.handle()));
    if (comm_.rank() != 0) {
        return;
    }
    times_.step = step;
    times_.total_s = run_time_.elapsed_s();
    if (step < steps_) {
        progress_.print(fmt::format("stopped after step {} of {}", step, steps_));
    } else if (last_) {
        progress_.print(fmt::format(
            "done: {} after {} steps, in {:.0f} s", describe_test(*last_, task_), step,
            times_.total_s
        ));
    } else {
        progress_.print("all steps are done already; to go on, give more --epochs or --steps");
        return;
    }
    progress_.print(to_table(times_));
    say(to_straggler(compute_s));
    log_.write(times_);
}

}  // namespace dist::trainer
