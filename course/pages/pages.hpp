// Pages for a browser: each is one file that loads nothing, reads well in dark and light, and shows a still picture where there
// are no scripts, or on paper.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dist::pages {

struct Page {
    std::string title;
    std::string still;  // HTML: what paper and a browser without scripts show
};

/// Plays the messages of a run: course/report/player.hpp says what `run` has.
std::string player(const Page& page, const nlohmann::json& run);

/// Curves whose points can be read, to be switched on and off.
///
/// document  that of `bench --json`, `simulate --json` or `simulate train --json`.
std::string curves(const Page& page, const nlohmann::json& document);

/// Text as HTML shows it.
std::string escaped(const std::string& text);

}  // namespace dist::pages
