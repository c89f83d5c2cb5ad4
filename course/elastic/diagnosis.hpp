// What the flight records of a job say: files that its ranks have left.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "exercises/10_elastic/flight_recorder.hpp"

namespace dist::elastic {

/// Those in files PREFIX*.flight of a folder. One that is not whole is left out, as if its rank had left none.
///
/// Errors  std::filesystem::filesystem_error if the folder cannot be read.
std::vector<FlightRecord> read_flight_records(
    const std::filesystem::path& folder, const std::string& prefix = ""
);

/// What diagnose() finds. Of who was slow it says nothing where something is worse.
std::vector<FlightFinding> diagnosis_of(const std::vector<FlightRecord>& records);

}  // namespace dist::elastic
