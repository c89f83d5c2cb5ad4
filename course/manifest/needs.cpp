#include "course/manifest/needs.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "course/process/error.hpp"

namespace dist::cli {
namespace {

constexpr std::array<Needs, 4> kKinds = {
    {{.word = "mpi", .simulated = true},
     {.word = "torch", .install = "torch", .makes_code = true},
     {.word = "nccl",
      .skipped = "needs a GPU",
      .for_gpu = true,
      .shares_jobs = false,
      .looked_at = false,
      .makes_code = true},
     {.word = "cuda",
      .suffix = ".cu",
      .skipped = "needs a GPU",
      .for_gpu = true,
      .shares_jobs = false,
      .looked_at = false,
      .makes_code = true}}};

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
