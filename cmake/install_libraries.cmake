# Run when component `libraries` is installed: copies the shared libraries that `programs` need into `folder` below the
# prefix, each once and under the name by which it is looked for, and the licence of each one's Debian package.
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs}
     RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing
     PRE_EXCLUDE_REGEXES "^lib(torch|c10)" "^ld-linux"
                         "^lib(c|m|dl|rt|pthread|util|resolv|stdc\\+\\+|gcc_s)\\.so\\.")
if(missing)
  message(FATAL_ERROR "these libraries of the programs are not on this machine: ${missing}")
endif()
file(MAKE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${folder} ${CMAKE_INSTALL_PREFIX}/${licences})
foreach(library ${libraries})
  cmake_path(GET library FILENAME name)
  file(REAL_PATH ${library} file)
  file(COPY_FILE ${file} ${CMAKE_INSTALL_PREFIX}/${folder}/${name} ONLY_IF_DIFFERENT)
  cmake_path(GET file FILENAME packaged)  # packages of before the merge of /lib and /usr/lib name the former
  execute_process(COMMAND dpkg-query --search */${packaged} OUTPUT_VARIABLE owner COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE ":.*" "" package "${owner}")
  file(COPY_FILE /usr/share/doc/${package}/copyright ${CMAKE_INSTALL_PREFIX}/${licences}/${package} ONLY_IF_DIFFERENT)
endforeach()
# Of what lies inside the programs: the font of pictures, the curves of reports, libraries that are headers alone.
foreach(package fonts-dejavu-core libcli11-dev libjs-dygraphs nlohmann-json3-dev)
  file(COPY_FILE /usr/share/doc/${package}/copyright ${CMAKE_INSTALL_PREFIX}/${licences}/${package} ONLY_IF_DIFFERENT)
endforeach()
