#include "course/manifest/needs.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "course/process/error.hpp"

namespace dist::cli {
namespace {

constexpr std::array<Needs, 4> kKinds = {
    {{.word = "mpi",
      .suffix = ".cpp",
      .install = "",
      .skipped = "",
      .for_gpu = false,
      .shares_jobs = true,
      .looked_at = true,
      .makes_code = false,
      .simulated = true},
     {.word = "torch",
      .suffix = ".cpp",
      .install = "torch",
      .skipped = "",
      .for_gpu = false,
      .shares_jobs = true,
      .looked_at = true,
      .makes_code = true,
      .simulated = false},
     {.word = "nccl",
      .suffix = ".cpp",
      .install = "",
      .skipped = "needs a GPU",
      .for_gpu = true,
      .shares_jobs = false,
      .looked_at = false,
      .makes_code = true,
      .simulated = false},
     {.word = "cuda",
      .suffix = ".cu",
      .install = "",
      .skipped = "needs a GPU",
      .for_gpu = true,
      .shares_jobs = false,
      .looked_at = false,
      .makes_code = true,
      .simulated = false}}};

}  // namespace

const Needs& needs_named(std::string_view word) {
    const auto* const found = std::ranges::find(kKinds, word, &Needs::word);
    if (found == kKinds.end()) {
        std::string words;
        for (const Needs& kind : kKinds) {
            words += fmt::format("{}\"{}\"", words.empty() ? "" : ", ", kind.word);
        }
        throw CommandError(
            exit_status::kOurs,
            fmt::format("exercises/course.toml: needs = \"{}\": it is one of {}", word, words)
        );
    }
    return *found;
}

}  // namespace dist::cli
