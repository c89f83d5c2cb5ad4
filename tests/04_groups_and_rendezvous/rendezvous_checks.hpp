// What the tests of decide() and observe() are written with: a scene, and what is seen in it.
#pragma once

#include <functional>
#include <string>

#include "tests/04_groups_and_rendezvous/rendezvous_scene.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

/// Runs what is written with a Scene.
inline void scene(const RendezvousSettings& settings, const std::function<void(Scene&)>& body) {
    on_ranks({1}, [&](const Communicator&) {
        Scene scene(settings);
        body(scene);
    });
}

inline void check_action(Scene& scene, Action got, Action expected) {
    INFO(scene.text());
    const Comparison result = {
        got == expected, "expected " + text_of(expected) + ", got " + text_of(got)};
    CHECK(result);
}

inline void check_names(
    const Scene& scene, const std::string& what, const Names& got, const Names& expected
) {
    INFO(scene.text());
    const Comparison result = {
        got == expected, what + ": expected " + text_of(expected) + ", got " + text_of(got)};
    CHECK(result);
}

inline void check_members(const Scene& scene, const Names& expected) {
    check_names(scene, "members", names_of(scene.state.members), expected);
}

inline void check_waiting(const Scene& scene, const Names& expected) {
    check_names(scene, "waiting", names_of(scene.state.waiting), expected);
}

inline void check_ranks(const Scene& scene, const Names& expected) {
    check_names(scene, "ranks", scene.state.ranks, expected);
}

}  // namespace dist::harness
