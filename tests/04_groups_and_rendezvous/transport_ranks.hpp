#pragma once

#include "tests/harness/processes/on_transport.hpp"
