#include "course/diagrams/repeats.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

namespace dist::diagrams {
namespace {

using harness::MessageRecord;

constexpr int kShort = 24;          // rounds that fit on a screen
constexpr int kWorthALine = 4;      // rounds left out
constexpr int kMostTogether = 500;  // rounds that repeat as one

int rounds_of(const std::vector<MessageRecord>& messages) {
    int rounds = 0;
    for (const MessageRecord& message : messages) {
        rounds = std::max(rounds, message.end);
    }
    return rounds;
}

/// A number for each round: equal where the same messages arrive.
std::vector<int> kinds_of(const std::vector<MessageRecord>& messages) {
    using Kind = std::vector<std::array<int, 7>>;
    std::vector<Kind> rounds(static_cast<std::size_t>(rounds_of(messages)));
    for (const MessageRecord& message : messages) {
        rounds[static_cast<std::size_t>(message.end - 1)].push_back(
            {message.src, message.dst, message.bytes, message.end - message.begin,
             message.is_lost ? 1 : 0, message.is_excess ? 1 : 0, message.call}
        );
    }
    std::map<Kind, int> numbers;
    std::vector<int> kinds;
    for (Kind& kind : rounds) {
        std::ranges::sort(kind);
        kinds.push_back(numbers.emplace(kind, static_cast<int>(numbers.size())).first->second);
    }
    return kinds;
}

/// `length` rounds, `times` times one after the other.
struct Repeat {
    int length = 1;
    int times = 1;
    [[nodiscard]] int spared() const { return length * (times - 1); }
};

/// What spares most at the beginning of these rounds.
Repeat repeat_of(std::span<const int> kinds) {
    Repeat best;
    const int n = static_cast<int>(kinds.size());
    for (int length = 1; length <= std::min(n / 2, kMostTogether); ++length) {
        const auto shifted = kinds.subspan(static_cast<std::size_t>(length));
        const auto differs = std::ranges::mismatch(shifted, kinds).in1;
        const int alike = static_cast<int>(differs - shifted.begin());
        const Repeat repeat{length, 1 + alike / length};
        if (repeat.spared() > best.spared()) {
            best = repeat;
        }
    }
    return best.spared() >= kWorthALine ? best : Repeat{};
}

/// Which rounds are drawn, and what is said of the others.
class Folds {
  public:
    explicit Folds(std::span<const int> kinds) : kinds_(kinds) {
        add(0, static_cast<int>(kinds.size()), /*inside=*/false);
    }

    std::vector<int> numbers;
    std::vector<Gap> gaps;

  private:
    /// Rounds begin+1 to end, which may stand inside of others that repeat.
    void add(int begin, int end, bool inside) {
        while (begin < end) {
            const auto here = kinds_.subspan(
                static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)
            );
            const Repeat repeat = repeat_of(here);
            if (repeat.length == 1) {
                numbers.push_back(begin + 1);
            } else {
                add(begin, begin + repeat.length, true);
            }
            begin += repeat.length * repeat.times;
            if (repeat.times > 1) {
                tell(repeat, begin, inside);
            }
        }
    }

    void tell(const Repeat& repeat, int last, bool inside) {
        const int spared = repeat.spared();
        const std::string until = inside ? "" : fmt::format(", to round {}", last);
        gaps.push_back(
            {static_cast<int>(numbers.size()),
             repeat.length == 1
                 ? fmt::format("{} more rounds alike{}", spared, until)
                 : fmt::format(
                       "the {} rounds since round {} again, {} more times{}", repeat.length,
                       last - repeat.length * repeat.times + 1, repeat.times - 1, until
                   )}
        );
    }

    std::span<const int> kinds_;
};

}  // namespace

Shortened whole(const std::vector<MessageRecord>& messages) {
    const int rounds = rounds_of(messages);
    Shortened all{.messages = messages, .numbers = {}, .gaps = {}, .rounds = rounds};
    all.numbers.resize(static_cast<std::size_t>(rounds));
    std::iota(all.numbers.begin(), all.numbers.end(), 1);
    return all;
}

Shortened shortened(const std::vector<MessageRecord>& messages) {
    const int rounds = rounds_of(messages);
    if (rounds <= kShort) {
        return whole(messages);
    }
    const std::vector<int> kinds = kinds_of(messages);
    Folds shortens(kinds);
    Shortened shown{
        .messages = {},
        .numbers = std::move(shortens.numbers),
        .gaps = std::move(shortens.gaps),
        .rounds = rounds};
    for (MessageRecord message : messages) {
        const auto drawn = std::ranges::lower_bound(shown.numbers, message.end);
        if (drawn == shown.numbers.end() || *drawn != message.end) {
            continue;
        }
        const auto begin = std::ranges::lower_bound(shown.numbers, message.begin + 1);
        message.begin = static_cast<int>(begin - shown.numbers.begin());
        message.end = static_cast<int>(drawn - shown.numbers.begin()) + 1;
        shown.messages.push_back(message);
    }
    return shown;
}

std::map<int, std::set<int>> headings_of(
    const Shortened& shown, const std::vector<std::string>& calls
) {
    std::map<int, std::set<int>> by_round;
    for (const MessageRecord& message : shown.messages) {
        const auto call = static_cast<std::size_t>(message.call);
        if (call < calls.size() && !calls[call].empty()) {
            by_round[message.end].insert(message.call);
        }
    }
    std::set<int> before;
    std::erase_if(by_round, [&](const auto& round) {
        return std::exchange(before, round.second) == round.second;
    });
    return by_round;
}

}  // namespace dist::diagrams
