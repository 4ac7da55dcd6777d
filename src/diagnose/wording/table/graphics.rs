//! Interfaces of graphics and video, and programs that draw through them.

use super::Means::{Device, Host};
use super::{Wording, row};

pub(super) static ROWS: &[Wording] = &[
    row(
        Device,
        "vulkan",
        "Vulkan could not allocate device memory.",
        r"VK_ERROR_OUT_OF_(?:DEVICE_MEMORY|POOL_MEMORY)|ErrorOutOfDeviceMemory|\bERROR_OUT_OF_DEVICE_MEMORY|\bvkAllocateMemory (?:failed|returned|error)[ :(]*-2\b",
        "vkAllocateMemory: VK_ERROR_OUT_OF_DEVICE_MEMORY",
        "Vulkan: VkResult",
    ),
    row(
        Host,
        "vulkan",
        "Vulkan could not allocate on the host.",
        r"VK_ERROR_OUT_OF_HOST_MEMORY|ErrorOutOfHostMemory|\bERROR_OUT_OF_HOST_MEMORY",
        "vkCreateInstance returned VK_ERROR_OUT_OF_HOST_MEMORY",
        "Vulkan: VkResult",
    ),
    row(
        Device,
        "directx",
        "Direct3D could not place a resource in video memory.",
        r"(?:[Dd]3[Dd]1[12]\w*|DXGI|RHI|CreateCommittedResource|CreateHeap|CreateTexture\w*|CreateBuffer)[^\n]{0,100}(?:E_OUTOFMEMORY|0x8007000[Ee]|OUT_OF_VIDEO_MEMORY)|D3D error was 8007000[Ee]|D3DERR_OUTOFVIDEOMEMORY|DDERR_OUTOFVIDEOMEMORY|Out of video memory",
        "LogD3D12RHI: Error: CreateCommittedResource failed with error E_OUTOFMEMORY",
        "Direct3D 12: HRESULT",
    ),
    row(
        Device,
        "dxvk",
        "A game that draws through DXVK could not get video memory.",
        r"DxvkMemoryAllocator: Memory allocation failed",
        "err:   DxvkMemoryAllocator: Memory allocation failed",
        "dxvk: src/dxvk/dxvk_memory.cpp",
    ),
    row(
        Device,
        "opengl",
        "OpenGL could not allocate a texture or buffer.",
        r"\bGL_OUT_OF_MEMORY\b|\bEGL_BAD_ALLOC\b|glError 0x0?505|glTexImage2D[^\n]{0,60}out of memory",
        "GL_OUT_OF_MEMORY error generated. Failed to allocate memory for buffer object.",
        "OpenGL: glGetError",
    ),
    row(
        Device,
        "webgpu",
        "The browser's GPU process could not allocate.",
        r"GPUOutOfMemoryError|(?:wgpu|WebGPU|Dawn) (?:error: )?[Oo]ut [Oo]f [Mm]emory|wgpu error: Out of Memory|CONTEXT_LOST_WEBGL[^\n]*memory|Device was lost[^\n]{0,60}insufficient memory",
        "wgpu error: Out of Memory",
        "WebGPU: GPUOutOfMemoryError",
    ),
    row(
        Device,
        "blender",
        "The scene fits neither the device nor the main memory that it may use.",
        r"System is out of GPU (?:and shared host )?memory|Out of memory in CUDA (?:queue|device)|Out of memory in cu\w+\(",
        "Error: System is out of GPU and shared host memory",
        "blender: cycles/device",
    ),
    row(
        Device,
        "ffmpeg",
        "The video encoder or decoder of the device has no memory or no session left.",
        r"(?:nvenc|nvdec|cuvid|qsv|vaapi|amf)\b[^\n]*?(?:out of memory|Cannot allocate memory)|OpenEncodeSessionEx failed: out of memory|\bNV_ENC_ERR_OUT_OF_MEMORY\b|NVENC Error: [^\n]*out of memory",
        "[h264_nvenc @ 0x55d0c8a1d2c0] OpenEncodeSessionEx failed: out of memory (10): (no details)",
        "ffmpeg: libavcodec/nvenc.c",
    ),
];
