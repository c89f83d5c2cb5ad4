// The trainer's command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace dist::trainer {

struct Options {
    std::filesystem::path data;
    std::string model = "resnet34";
    std::size_t batch = 64;            ///< pictures per rank
    std::optional<std::size_t> steps;  ///< if given, instead of epochs
    std::size_t epochs = 20;
    std::string parallel = "ddp";
    std::filesystem::path log;         ///< empty: none
    std::filesystem::path checkpoint;  ///< a folder; empty: none
    bool resume = false;
    std::uint64_t seed = 1;
    std::string dtype = "fp32";
    double rate = 0.05;  ///< at the start, falling to 0 on a cosine
    double momentum = 0.9;
    double weight_decay = 5e-4;
    std::size_t train_size = 0;  ///< 0: all
    std::size_t test_size = 0;   ///< 0: all
    std::optional<std::size_t> stop_after;
    std::string
        mine;  ///< not from the command line: which exercises are the student's, comma between
};

/// Reads the command line. When it asks for help, returns the help text instead.
///
/// Errors  Stop, with one line.
std::optional<std::string> parse_options(int argc, const char* const* argv, Options& options);

}  // namespace dist::trainer
