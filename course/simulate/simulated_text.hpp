// What was simulated, for people: a table with who wins where, and a picture; for programs JSON and CSV.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "course/simulate/simulation.hpp"

namespace dist::cli {

/// "6.14 KB", in powers of 1000.
std::string in_bytes(double bytes);

/// "2.00 us", "1.52 ms"
std::string in_seconds(double seconds);

/// "10 Gbit/s for each rank, 2 us from rank to rank, adding takes no time"
std::string place_of(const Cluster& cluster);
nlohmann::json document_of(const Cluster& cluster);

/// columns  of the window: in a narrow one the table has fewer columns.
std::string table_of(
    const Simulated& simulated, const Cluster& cluster, std::size_t columns = std::string::npos
);
std::string csv_of(const Simulated& simulated);
std::string json_of(const Simulated& simulated, const Cluster& cluster);

/// A page for a browser: the curves of what json_of() says, to be pointed at and switched on and off.
std::string page_of(const Simulated& simulated, const Cluster& cluster);

/// gnuplot's script: time over ranks at the largest size, and over sizes on the most ranks, with the points from which on
/// another algorithm is the fastest.
std::string picture_of(const Simulated& simulated, const Cluster& cluster);

}  // namespace dist::cli
