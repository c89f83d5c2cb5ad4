#include "tests/harness/words/lives.hpp"

#include "course/runtime/seeded.hpp"
#include "tests/harness/catch2.hpp"
#include "tests/harness/words/inputs.hpp"

namespace dist::harness {
namespace {

/// One life. Returns what went wrong first.
Comparison live(const std::vector<Step>& steps, std::uint64_t draw, int length) {
    std::string story;
    Comparison wrong;
    for (int i = 0; i < length; ++i) {
        std::vector<const Step*> legal;
        for (const Step& step : steps) {
            if (step.is_legal()) {
                legal.push_back(&step);
            }
        }
        if (legal.empty()) {
            break;
        }
        const Step& next = *legal[seeded_bits(draw, static_cast<std::uint64_t>(i)) % legal.size()];
        story += (story.empty() ? "" : ", ") + next.name;
        INFO("these calls in a row: " << story);
        const Comparison result = next.take();  // all ranks go on to the end: their messages meet
        if (wrong && !result) {
            wrong = {false, result.text + "; after these calls in a row: " + story};
        }
    }
    return wrong;
}

}  // namespace

void lives(const std::function<std::vector<Step>(std::uint64_t draw)>& begin, Span span) {
    for (int life = 0; life < span.lives; ++life) {
        const std::uint64_t draw = seeded_bits(seed(), static_cast<std::uint64_t>(life));
        const Comparison went = live(begin(draw), draw, span.steps);
        CHECK(went);
    }
}

}  // namespace dist::harness
