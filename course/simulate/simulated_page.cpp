#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "course/pages/pages.hpp"
#include "course/simulate/simulated_text.hpp"

namespace dist::cli {

std::string page_of(const Simulated& simulated, const Cluster& cluster) {
    return pages::curves(
        {.title = fmt::format(
             "{} of float32, {}: {}", simulated.collective,
             simulated.by_formula ? "by formula" : "simulated", place_of(cluster)
         ),
         .still = "<pre>" + pages::escaped(table_of(simulated, cluster)) + "</pre>"},
        nlohmann::json::parse(json_of(simulated, cluster))
    );
}

}  // namespace dist::cli
