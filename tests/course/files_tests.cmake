# Files that are there as a whole or not at all.
add_executable(files_test EXCLUDE_FROM_ALL files_test.cpp sole_writer_test.cpp)
target_link_libraries(files_test PRIVATE dist_catch2_main dist::files Threads::Threads dist::warnings)
add_test(NAME files COMMAND files_test)
set_tests_properties(files PROPERTIES LABELS files)
