// What stands under a report while watch waits.
#pragma once

#include <cstddef>
#include <string>

namespace dist::cli {

/// "[####----------------] 10 of 51 done" in a window of so many columns.
std::string progress_bar(std::size_t done, std::size_t total, std::size_t columns);

/// The keys and what they do, "h hint | l list"; a key stays beside its word.
std::string key_words(bool may_go_on, std::size_t columns);

}  // namespace dist::cli
