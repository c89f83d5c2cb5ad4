// ATen/record_function.h as LibTorch was built with it, with NDEBUG: without that, it has a class with a member more.
#pragma once

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define NDEBUG
#include <ATen/record_function.h>
#pragma pop_macro("NDEBUG")
