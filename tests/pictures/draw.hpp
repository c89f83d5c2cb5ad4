// How a picture is made: the algorithm runs on real processes, and its messages are drawn.
#pragma once

#include <functional>
#include <vector>

#include "course/diagrams/diagram.hpp"
#include "tests/harness/harness.hpp"

namespace dist::diagrams {

/// The launcher sets it: the folder into which every picture goes, as NAME.svg.
inline constexpr const char* kEnvPictures = "SHARDLINGS_PICTURES";

/// As many as most pictures have: more than ranks, and no multiple of them.
inline constexpr std::size_t kFloats = 10;

/// Runs `body` on diagram.ranks processes and draws what it sends.
void draw(const Diagram& diagram, const std::function<void(const Communicator&)>& body);

/// Where each of `count` chunks of n floats begins.
std::vector<std::size_t> chunk_begins(std::size_t n, int count);

/// begin, begin + 1, ...: data[i] = i on all ranks, so that every message tells where it comes
/// from, also after a reduction by max. Pages that play messages call it data.
std::vector<float> numbered(std::size_t n, std::size_t begin = 0);

/// Room for what comes in; pages call it out.
std::vector<float> room_for(std::size_t n);

}  // namespace dist::diagrams
