// The trainer's command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/parallel/options.hpp"
#include "course/trainer/task_facts.hpp"

namespace dist::trainer {

struct Options : ParallelOptions {
    std::filesystem::path data;
    std::vector<std::filesystem::path> text;  ///< of gpt; none: the course's lessons
    std::size_t batch = 64;                   ///< examples per rank
    std::optional<std::size_t> global_batch;  ///< of all ranks together, instead
    std::string last_batch = "fill";          ///< of an epoch: or "short", or "drop"
    std::size_t accumulate = 1;               ///< steps of which the gradients are added up
    std::optional<std::size_t> steps;         ///< if given, instead of epochs
    std::size_t epochs = 20;
    std::filesystem::path log;              ///< empty: none
    std::filesystem::path trace;            ///< a folder; empty: none
    std::filesystem::path flight_records;   ///< a folder; empty: launch's, if any
    std::filesystem::path diagnose;         ///< a folder of such records, instead of training
    std::filesystem::path checkpoint;       ///< a folder; empty: none
    std::optional<std::size_t> save_every;  ///< steps; also at the end of each epoch
    bool async_save = false;                ///< a thread writes the checkpoint
    bool resume = false;
    bool elastic = false;         ///< go on from the checkpoint where there is one
    bool fault_tolerant = false;  ///< replicas go on without those that die
    double timeout_s = 600;
    std::uint64_t seed = 1;
    bool channels_last = false;
    std::string schedule = "cosine";  ///< or "onecycle"
    double label_smoothing = 0;
    std::optional<double> clip_norm;
    std::string augment = "crop-flip";  ///< or "none"
    std::size_t train_size = 0;         ///< 0: all
    std::size_t test_size = 0;          ///< 0: all
    std::optional<std::size_t> stop_after;
    std::optional<std::string> sample;  ///< of gpt: a text to go on with, instead of training
    std::size_t sample_bytes = 400;
    double temperature = 0.8;  ///< of the sample; 0: the likeliest byte each time
};

/// The rate that an optimizer is used with, where none is given.
double usual_rate(const std::string& optimizer);

/// The checkpoint's file in the folder of --checkpoint.
std::filesystem::path checkpoint_file(const std::filesystem::path& folder);

/// The same with --async-save: there are others beside it, which belong to it.
std::filesystem::path snapshot_file(const std::filesystem::path& folder);

/// Reads the command line. When it asks for help, returns the help text instead.
///
/// Errors  Stop, with one line.
std::optional<std::string> parse_options(int argc, const char* const* argv, Options& options);

/// The options alone, as --help lists them.
std::string options_help();

/// What two runs must have in common for one to go on where the other stopped, as text for people. The
/// number of ranks is no part of it, nor is the way they share the work.
///
/// task   what it trains on.
/// ranks  that share the examples out.
std::string describe_run(const Options& options, const TaskFacts& task, int ranks);

/// "resnet34"; of a gpt its shape, too.
std::string describe_model(const Options& options);

}  // namespace dist::trainer
