// What most answers to an exercise include: parsed once for all of them. No file relies on it, and the reference
// solutions are built without it too.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

#include "course/runtime/buffer.hpp"
#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/reduce_op.hpp"
