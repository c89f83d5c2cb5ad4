// Runs of the trainer as a user starts it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

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
