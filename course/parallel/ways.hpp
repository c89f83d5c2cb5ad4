// The ways to spread the work over the ranks, by name: what --parallel offers. No LibTorch here: the
// command line is read without it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dist::trainer {

/// One way each; a new one is a word here, a line in ways.cpp, and a file beside average.cpp.
enum class Parallel { average, ddp, zero1, zero2, zero3, three_d, ps, dp, none };

struct Way {
    Parallel parallel;
    std::string_view name;          ///< for --parallel
    std::string_view what;          ///< one line, for --help
    std::vector<std::string> uses;  ///< the exercises that the trainer calls for it
    bool one_process = false;
    bool on_a_mesh = false;  ///< of a GPT: --mesh
};

/// Every way there is, the first being the default.
std::span<const Way> ways();

/// "average, ...": what there is.
std::string way_names();

/// The way of that name, or null.
const Way* find_way(std::string_view name);

/// What is known of a way.
const Way& way_of(Parallel parallel);

}  // namespace dist::trainer
