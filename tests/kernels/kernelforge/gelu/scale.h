#pragma once
__device__ __forceinline__ float half_of(float x) { return 0.5f * x; }
