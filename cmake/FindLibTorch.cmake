# Imported targets from the PyPI wheel of libtorch: LibTorch::cpu (torch_cpu + c10) and, where the
# wheel's CUDA half can be linked, LibTorch::cuda. Never find_package(Torch): its package file wants nvcc.
#
# Where: -DLibTorch_ROOT, else $LARMOR_LIBTORCH, else the user's cache that script/setup fills. The
# folder is the one that holds torch/ and nvidia/ side by side.
if(NOT LibTorch_ROOT)
  if(DEFINED ENV{LARMOR_LIBTORCH})
    set(LibTorch_ROOT $ENV{LARMOR_LIBTORCH})
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(LibTorch_ROOT $ENV{XDG_CACHE_HOME}/larmor/libtorch-2.11.0)
  else()
    set(LibTorch_ROOT $ENV{HOME}/.cache/larmor/libtorch-2.11.0)
  endif()
endif()
set(_torch ${LibTorch_ROOT}/torch)

find_library(LibTorch_CPU torch_cpu PATHS ${_torch}/lib NO_DEFAULT_PATH)
find_library(LibTorch_C10 c10 PATHS ${_torch}/lib NO_DEFAULT_PATH)
find_library(LibTorch_CUDA torch_cuda PATHS ${_torch}/lib NO_DEFAULT_PATH)
find_library(LibTorch_C10_CUDA c10_cuda PATHS ${_torch}/lib NO_DEFAULT_PATH)
find_library(LibTorch_CUDART NAMES libcudart.so.13 PATHS ${LibTorch_ROOT}/nvidia/cu13/lib NO_DEFAULT_PATH)
mark_as_advanced(LibTorch_CPU LibTorch_C10 LibTorch_CUDA LibTorch_C10_CUDA LibTorch_CUDART)

if(LibTorch_CPU)
  foreach(_part MAJOR MINOR PATCH)
    file(STRINGS ${_torch}/include/torch/headeronly/version.h _line REGEX "^#define TORCH_VERSION_${_part} ")
    string(REGEX REPLACE ".* ([0-9]+).*" "\\1" _v${_part} "${_line}")
  endforeach()
  set(LibTorch_VERSION ${_vMAJOR}.${_vMINOR}.${_vPATCH})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_CPU LibTorch_C10
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "looked in ${LibTorch_ROOT}: run script/setup, or name the folder in LARMOR_LIBTORCH")

# libtorch_cpu needs libcudart and libcupti even on a CPU: the wheels lie beside torch/.
set(_rpath_link)
foreach(_folder cu13 cudnn nccl nvshmem cusparselt)
  if(IS_DIRECTORY ${LibTorch_ROOT}/nvidia/${_folder}/lib)
    list(APPEND _rpath_link "LINKER:-rpath-link,${LibTorch_ROOT}/nvidia/${_folder}/lib")
  endif()
endforeach()

if(LibTorch_FOUND AND NOT TARGET LibTorch::cpu)
  find_package(Threads REQUIRED)
  add_library(LibTorch::c10 SHARED IMPORTED)
  set_target_properties(LibTorch::c10 PROPERTIES
    IMPORTED_LOCATION ${LibTorch_C10}
    INTERFACE_INCLUDE_DIRECTORIES "${_torch}/include;${_torch}/include/torch/csrc/api/include")
  add_library(LibTorch::cpu SHARED IMPORTED)
  set_target_properties(LibTorch::cpu PROPERTIES
    IMPORTED_LOCATION ${LibTorch_CPU}
    INTERFACE_LINK_LIBRARIES "LibTorch::c10;Threads::Threads"
    INTERFACE_LINK_OPTIONS "${_rpath_link}"
    INTERFACE_COMPILE_DEFINITIONS "USE_DISTRIBUTED;USE_C10D_GLOO"
    INTERFACE_COMPILE_FEATURES cxx_std_20)
endif()
if(LibTorch_FOUND AND LibTorch_CUDA AND LibTorch_C10_CUDA AND NOT TARGET LibTorch::cuda)
  add_library(LibTorch::c10_cuda SHARED IMPORTED)
  set_target_properties(LibTorch::c10_cuda PROPERTIES IMPORTED_LOCATION ${LibTorch_C10_CUDA})
  add_library(LibTorch::cuda SHARED IMPORTED)
  # Nothing in our code refers to libtorch_cuda by name; it registers its kernels when loaded.
  set_target_properties(LibTorch::cuda PROPERTIES
    IMPORTED_LOCATION ${LibTorch_CUDA}
    INTERFACE_LINK_LIBRARIES "LibTorch::cpu;LibTorch::c10_cuda"
    INTERFACE_LINK_OPTIONS "LINKER:--no-as-needed")
endif()
# CUDA's runtime, which Larmor's own kernels and streams call. Emulated GPUs bring one of their own, so it is apart.
if(LibTorch_FOUND AND LibTorch_CUDART AND NOT TARGET LibTorch::cudart)
  add_library(LibTorch::cudart SHARED IMPORTED)
  set_target_properties(LibTorch::cudart PROPERTIES IMPORTED_LOCATION ${LibTorch_CUDART} IMPORTED_SONAME libcudart.so.13)
endif()

# CUDA's headers come with libtorch's wheels, nccl.h with NCCL's wheel or with the toolkit.
find_path(LARMOR_CUDA_INCLUDE cuda_runtime.h
          PATHS ${LibTorch_ROOT}/nvidia/cu13/include /usr/local/cuda/include)
find_path(LARMOR_NCCL_INCLUDE nccl.h
          PATHS ${LibTorch_ROOT}/nvidia/nccl/include ${LARMOR_CUDA_INCLUDE} /usr/local/cuda/include)
mark_as_advanced(LARMOR_CUDA_INCLUDE LARMOR_NCCL_INCLUDE)
