// The words of a record: an enumeration each, and how rank-R.jsonl spells them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace dist::harness {

/// How a test went on one rank; the worse comes later.
enum class Outcome : int {
    pass,
    skipped,
    stopped,  // another rank's fault
    fail,
    hang,
    not_started,
    forbidden
};

/// What a thread of a rank does. The last three the launcher makes of a rank that wrote nothing.
enum class Phase : int { absent, computing, waiting, returned, threw, asleep, died, stopped };

/// What a rank waits in.
enum class CallKind : int {
    none,
    message,   // a send or a receive
    exchange,  // MPI_Sendrecv: its other half is under way
    probe,
    request,  // of which nothing is known
    collective
};

/// Which way the message goes.
enum class Direction : int { none, send, receive };

/// The names of an enumeration, in the order of its enumerators.
template <class Word>
inline constexpr std::array<std::string_view, 0> kNames{};
template <>
inline constexpr std::array<std::string_view, 7> kNames<Outcome>{
    "pass", "skipped", "stopped", "fail", "hang", "not_started", "forbidden"};
template <>
inline constexpr std::array<std::string_view, 8> kNames<Phase>{
    "", "computing", "waiting", "returned", "threw", "asleep", "died", "stopped"};
template <>
inline constexpr std::array<std::string_view, 6> kNames<CallKind>{"",      "message", "exchange",
                                                                  "probe", "request", "collective"};
template <>
inline constexpr std::array<std::string_view, 3> kNames<Direction>{"", "send", "receive"};

template <class Word>
constexpr std::string_view spelt(Word word) {
    return kNames<Word>.at(static_cast<std::size_t>(word));
}

/// The word of that name; none for a name that is not in the table.
template <class Word>
constexpr std::optional<Word> word_of(std::string_view name) {
    const auto& names = kNames<Word>;
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? std::nullopt
                                : std::optional(static_cast<Word>(found - names.begin()));
}

}  // namespace dist::harness
