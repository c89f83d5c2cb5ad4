// A file in the folder that all ranks work in, which every rank maps.
#include "tests/harness/words/shared_room.hpp"

#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace dist::harness {

void* shared_room(const char* name, std::size_t bytes) {
    const int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
        throw std::runtime_error(std::string("cannot make the file ") + name);
    }
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) {
        throw std::runtime_error(std::string("cannot map the file ") + name);
    }
    return memory;
}

}  // namespace dist::harness
