#include "course/runtime/error.hpp"

namespace dist {

void expects(bool condition, const char* sentence) {
    if (!condition) {
        throw std::invalid_argument(sentence);
    }
}

}  // namespace dist
