# Files that the course's FileStore and PyTorch's share.
if(LibTorch_FOUND)
  add_executable(file_store_torch_test EXCLUDE_FROM_ALL file_store_torch_test.cpp)
  target_link_libraries(file_store_torch_test PRIVATE
    dist_catch2_main dist::stack LibTorch::LibTorch dist::lines_only dist::optimised_little dist::warnings)
  add_test(NAME file_store_torch COMMAND file_store_torch_test)
  set_tests_properties(file_store_torch PROPERTIES LABELS files)
endif()
