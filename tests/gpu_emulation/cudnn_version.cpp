// The two questions that libtorch asks of cuDNN (libcudnn.so.9) where it is switched off.
#include <cstddef>

extern "C" {

size_t cudnnGetVersion() { return 91900; }
size_t cudnnGetCudartVersion() { return 13000; }
}
