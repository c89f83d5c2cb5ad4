// What is said of a task, and of a test: for people and for the log.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace dist::trainer {

struct TaskFacts {
    std::string data;             ///< a line: what it is trained and tested on
    std::string examples;         ///< what one is called, many of them: "pictures"
    std::size_t train_size = 0;   ///< examples to train on
    std::string unit = "images";  ///< what the log counts
    std::size_t units = 1;        ///< of them in an example
    bool synthetic = false;       ///< made from the seed
};

/// What came of a test.
struct TestResult {
    std::size_t counted = 0;     ///< labels
    double accuracy = 0;         ///< 0 to 1, over them
    std::optional<double> loss;  ///< mean over them, in nats, where the task measures it
};

}  // namespace dist::trainer
