#include "course/lab/page.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "course/pages/pages.hpp"

namespace dist::lab {

std::string to_html(const std::vector<Measured>& measurements) {
    const Measured& last = measurements.back();
    const std::string ranks =
        measurements.size() > 1 ? "" : fmt::format(" on {} ranks", last.machine.ranks);
    return pages::curves(
        {.title = fmt::format("{} of float32{}: {}", last.collective.name, ranks, last.machine.mpi),
         .still = "<pre>" + pages::escaped(to_table(measurements)) + "</pre>"},
        nlohmann::json::parse(to_json(measurements))
    );
}

}  // namespace dist::lab
