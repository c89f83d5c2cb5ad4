# SimGrid's MPI, which runs all ranks of a program inside one process, on a network that is described to it: SimGrid::SMPI.

find_path(SimGrid_SMPI_INCLUDE_DIR mpi.h PATH_SUFFIXES smpi NO_CMAKE_SYSTEM_PATH PATHS /usr/include/smpi)
find_library(SimGrid_LIBRARY simgrid)
find_program(SimGrid_SMPIRUN smpirun)
# What smpirun starts; and, from SimGrid 4 on, what starts that again and again, once for each order of messages.
find_program(SimGrid_SMPIMAIN smpimain PATH_SUFFIXES simgrid PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib /usr/local/lib)
find_program(SimGrid_MODEL_CHECKER simgrid-mc)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SimGrid REQUIRED_VARS SimGrid_LIBRARY SimGrid_SMPI_INCLUDE_DIR SimGrid_SMPIRUN)

if(SimGrid_FOUND AND NOT TARGET SimGrid::SMPI)
  add_library(SimGrid::SMPI INTERFACE IMPORTED)
  target_include_directories(SimGrid::SMPI INTERFACE ${SimGrid_SMPI_INCLUDE_DIR})
  target_compile_options(SimGrid::SMPI INTERFACE "SHELL:-include smpi/smpi_helpers.h")  # as smpicxx does
  target_link_libraries(SimGrid::SMPI INTERFACE ${SimGrid_LIBRARY})
endif()
