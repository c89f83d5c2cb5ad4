// Runs of the trainer as a user starts it.
#pragma once

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/harness/catch2.hpp"

/// What came of a run.
struct Run {
    int status = 0;      ///< mpirun's
    std::string output;  ///< standard output and standard error
};

/// Little to do: ends in seconds.
inline const std::string kLittle = "--model small --train-size 96 --test-size 30 ";

/// Runs `mpirun -n ranks trainer arguments` on few synthetic pictures.
Run run_trainer(int ranks, const std::string& arguments);

/// Runs `mpirun -n ranks program arguments`.
Run run_program(const std::string& program, int ranks, const std::string& arguments);

/// The losses of all steps in a log.
std::vector<double> losses(const std::filesystem::path& log);

/// The losses of a run of its own, of little to do.
std::vector<double> losses_with(int ranks, const std::string& options);

using Records = std::vector<nlohmann::json>;

/// The last record with this field.
inline nlohmann::json last_with(const std::string& field, const Records& records) {
    const auto found = std::find_if(records.rbegin(), records.rend(), [&](const auto& record) {
        return record.contains(field);
    });
    REQUIRE(found != records.rend());
    return *found;
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}
