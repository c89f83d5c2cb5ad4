#include "course/lab/gloo.hpp"

namespace dist::lab {

Run gloo_all_reduce() {
    return nullptr;
}

}  // namespace dist::lab
