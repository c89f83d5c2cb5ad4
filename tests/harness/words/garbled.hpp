// What a network of a test's own does to the messages between ranks that are threads, where a grader asks for it.
#pragma once

#include <cstddef>
#include <span>

namespace dist::harness {

/// Each byte becomes another one, or all become 0, in a job whose messages are garbled (course/grade/grader.cpp, [What a grade rests
/// on] 6); else nothing happens.
void garble_if_asked(std::span<std::byte> bytes);

}  // namespace dist::harness
