# What is given for GPU exercises, and the host's stand-in, as far as one process goes.
if(SHARDLINGS_GPU)
  add_executable(gpu_test EXCLUDE_FROM_ALL gpu_test.cpp)
  target_link_libraries(gpu_test PRIVATE dist_catch2_main dist::stand_in dist::warnings)
  add_test(NAME gpu COMMAND gpu_test)
  set_tests_properties(gpu PROPERTIES LABELS gpu)
endif()
