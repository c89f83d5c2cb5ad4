// What most files of the harness and most tests include: parsed once for all of them. No file relies on it.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <mpi.h>

#include "tests/harness/catch2.hpp"
