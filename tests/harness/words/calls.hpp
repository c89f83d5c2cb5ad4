// The calls that the code under test makes, as a complete list: what is called too often shows as what is missing.
//
//     Calls calls;
//     model.on_forward = [&] { calls.note("forward"); };
//     ...
//     const Comparison result = calls.are({"train", "zero_grad", "forward", "backward", "step"});
//     CHECK(result);
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/harness/words/compare.hpp"

namespace dist::harness {

/// "zero_grad, forward, 3 x step": a call that comes several times in a row stands there once.
inline std::string text_of_calls(const std::vector<std::string>& calls) {
    std::string text;
    for (std::size_t i = 0; i < calls.size();) {
        std::size_t end = i;
        while (end < calls.size() && calls[end] == calls[i]) {
            ++end;
        }
        text += text.empty() ? "" : ", ";
        text += (end - i > 1 ? std::to_string(end - i) + " x " : "") + calls[i];
        i = end;
    }
    return text.empty() ? "none" : text;
}

/// Are these the same calls in the same order? If not: which call is the first that differs, and which come
/// too often or too seldom.
inline Comparison same_calls(
    const std::vector<std::string>& got, const std::vector<std::string>& expected
) {
    if (got == expected) {
        return {};
    }
    const auto at =
        static_cast<std::size_t>(std::ranges::mismatch(got, expected).in1 - got.begin());
    const auto call = [at](const std::vector<std::string>& calls) {
        return at < calls.size() ? calls[at] : std::string("no call");
    };
    std::string text =
        "call " + std::to_string(at + 1) + ": expected " + call(expected) + ", got " + call(got);
    std::vector<std::string> names = expected;
    names.insert(names.end(), got.begin(), got.end());
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    for (const std::string& name : names) {
        const auto is = std::ranges::count(got, name);
        const auto should = std::ranges::count(expected, name);
        if (is != should) {
            text += "; " + name + " " + std::to_string(is) + " times, expected " +
                    std::to_string(should);
        }
    }
    return {
        false, text + "; expected: " + text_of_calls(expected) + "; got: " + text_of_calls(got)};
}

/// What was called, in order.
class Calls {
  public:
    void note(std::string call) { all_.push_back(std::move(call)); }
    void forget() { all_.clear(); }

    [[nodiscard]] const std::vector<std::string>& all() const { return all_; }
    [[nodiscard]] Comparison are(const std::vector<std::string>& expected) const {
        return same_calls(all_, expected);
    }

  private:
    std::vector<std::string> all_;
};

}  // namespace dist::harness
