// What the text of a file says that its object does not show.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "course/vet/vet.hpp"

namespace dist::cli {

/// `file` is what they are told to be in.
std::vector<Objection> objections_to_text(
    std::string_view source, const std::string& file, Strictness strictness
);

/// The same for what a preprocessor has made of `source`, on those lines that are of that file alone. Words that write into
/// the assembler's text are refused here as well: the directive #ident, and sections by name.
std::vector<Objection> objections_to_preprocessed(
    const std::string& text, const std::string& source, const std::string& file
);

}  // namespace dist::cli
