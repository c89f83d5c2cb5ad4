// The trainer's command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "course/nn/bucket_limits.hpp"
#include "course/trainer/parallel/ways.hpp"

namespace dist::trainer {

struct Options {
    std::filesystem::path data;
    std::string model = "resnet34";
    std::size_t batch = 64;            ///< pictures per rank
    std::string last_batch = "fill";   ///< of an epoch: or "short", or "drop"
    std::size_t accumulate = 1;        ///< steps of which the gradients are added up
    std::optional<std::size_t> steps;  ///< if given, instead of epochs
    std::size_t epochs = 20;
    Parallel parallel = Parallel::average;
    std::size_t bucket_cap_mb = nn::kBucketCapMb;  ///< of ddp
    std::size_t replicas = 2;                      ///< of dp
    std::filesystem::path log;                     ///< empty: none
    std::filesystem::path trace;                   ///< a folder; empty: none
    std::filesystem::path checkpoint;              ///< a folder; empty: none
    std::optional<std::size_t> save_every;         ///< steps; also at the end of each epoch
    bool resume = false;
    double timeout_s = 600;
    std::uint64_t seed = 1;
    std::string dtype = "fp32";
    std::string device = "cpu";  ///< or "cuda": a GPU a rank
    bool channels_last = false;
    std::string optimizer = "sgd";    ///< or "adamw"
    double rate = 0;                  ///< the highest: see schedule.hpp. Given, or usual_rate's
    std::string schedule = "cosine";  ///< or "onecycle"
    double momentum = 0.9;            ///< of sgd
    double weight_decay = 5e-4;
    double label_smoothing = 0;
    std::string augment = "crop-flip";  ///< or "none"
    std::size_t train_size = 0;         ///< 0: all
    std::size_t test_size = 0;          ///< 0: all
    std::optional<std::size_t> stop_after;
};

/// The rate that an optimizer is used with, where none is given.
double usual_rate(const std::string& optimizer);

/// Reads the command line. When it asks for help, returns the help text instead.
///
/// Errors  Stop, with one line.
std::optional<std::string> parse_options(int argc, const char* const* argv, Options& options);

/// The options alone, as --help lists them.
std::string options_help();

/// What two runs must have in common for one to go on where the other stopped, as text for people. The
/// number of ranks is no part of it, nor is the way they share the work.
///
/// pictures  to train on.
std::string describe_run(const Options& options, std::size_t pictures, int ranks);

}  // namespace dist::trainer
