// What tests of references are written with.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "tests/09_rpc/reference_world.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

using Lines = std::vector<std::string>;

/// Checks what was said since the last time.
inline void said(
    RefWorld& world, const std::string& when, const Lines& expected, bool in_any_order = false
) {
    const Comparison result = world.said(expected, in_any_order);
    INFO(when);
    CHECK(result);
}

/// Delivers all, and checks what is said meanwhile, and was since the last time.
inline void says(RefWorld& world, const std::string& when, const Lines& expected) {
    world.deliver_all();
    said(world, when, expected);
}

inline void counts(RefWorld& world, int rank, const RefCounts& expected) {
    const RefCounts got = world.at(rank).counts();
    const Comparison result{
        got == expected, "rank " + std::to_string(rank) + " must count " + text_of(expected) +
                             ", and counts " + text_of(got)};
    CHECK(result);
}

inline void is_there(RefWorld& world, RefId id) {
    const Comparison result{
        world.fate(id).freed == 0,
        "the object of reference " + to_string(id) + " is freed, and it has a use"};
    CHECK(result);
}

inline void is_freed(RefWorld& world, RefId id) {
    const Comparison result{
        world.fate(id).freed == 1,
        "the object of reference " + to_string(id) + " has no use, and is kept"};
    CHECK(result);
}

/// Checks that a use is confirmed, by both ways to ask.
inline void is_confirmed(RefWorld& world, int rank, std::size_t i = 0) {
    INFO("a use on rank " << rank << " has to be confirmed");
    CHECK(world.told(rank, i) == RefWorld::kConfirmed);
    CHECK(world.ref(rank, i).is_confirmed());
}

/// Checks that a use is neither confirmed nor given up.
inline void waits(RefWorld& world, int rank, std::size_t i = 0) {
    INFO("a use on rank " << rank << " must not be confirmed yet");
    CHECK(world.told(rank, i).empty());
    CHECK(!world.ref(rank, i).is_confirmed());
}

/// What must be when nobody has a use any more.
inline void all_is_over(RefWorld& world) {
    world.look_at_end();
    const Comparison result = world.result();
    CHECK(result);
}

/// what() of the Error that a call throws; empty: none.
inline std::string error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

/// Checks that a call throws an Error.
inline void fails(const std::string& what, const std::function<void()>& call) {
    const Comparison result{!error_of(call).empty(), what + " must throw an Error"};
    CHECK(result);
}

/// Checks that a text has all these in it.
inline void names(const std::string& what, const std::string& text, const Lines& all) {
    const std::string got = "; its error: " + (text.empty() ? "none" : text);
    for (const std::string& name : all) {
        std::string wrong = what + " must name ";
        wrong += name;
        wrong += got;
        const Comparison result{text.find(name) != std::string::npos, wrong};
        CHECK(result);
    }
}

/// Checks that a use is given up, and that nobody can be given one by it.
inline void is_given_up(RefWorld& world, int rank) {
    const std::string use = "of a use on rank " + std::to_string(rank) + " that is given up, ";
    INFO(use << "when_confirmed() must tell an Error");
    CHECK(!world.told(rank).empty());
    CHECK(world.told(rank) != RefWorld::kConfirmed);
    CHECK(!world.ref(rank).is_confirmed());
    for (int to = 0; to < world.size(); ++to) {
        fails(use + "fork_for(" + std::to_string(to) + ")", [&] {
            static_cast<void>(world.ref(rank).fork_for(to));
        });
    }
    std::string told;
    world.ref(rank).when_confirmed([&](const std::exception_ptr& error) { told = text_of(error); });
    CHECK(!told.empty());
}

}  // namespace dist::harness
