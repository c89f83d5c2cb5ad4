// For programs that end others than themselves.
#pragma once

#include <fstream>
#include <string>
#include <unistd.h>

namespace dist {

inline pid_t parent_of(pid_t process) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string pid;
    std::string name;
    std::string condition;
    pid_t parent = 0;
    stat >> pid >> name >> condition >> parent;
    return parent;
}

}  // namespace dist
